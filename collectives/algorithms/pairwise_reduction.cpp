#include "collectives/algorithms/pairwise_reduction.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "kernels/ops/reduce.hpp"

namespace muster::collectives::algorithms {
namespace {

constexpr Transport::Ticket kNoTicket = std::numeric_limits<Transport::Ticket>::max();
// Pieces on the way at once. Inside a host two, which stay in the cache. Across hosts a piece waits
// in the queues of both ends' links for the pieces of all others, and the slowest of n - 1 flows
// holds up each: many small ones keep every flow busy meanwhile.
constexpr std::int64_t kSlotsInside = 2;
constexpr std::int64_t kMaxSlotsAcross = 8;
constexpr std::size_t kPieceBytesAcross = 64 << 10;
constexpr std::size_t kSlotBytesAcross = 4 << 20;  // of all slots together, if two fit
// Large groups take smaller pieces, so that those of all ranks together stay in the cache.
constexpr std::size_t kMaxSlotBytes = 4 << 20;
constexpr std::size_t kMinPieceBytes = 64 << 10;

// Elements of one piece.
std::int64_t piece_length(const Lane& lane, Dtype dtype) {
  const std::size_t peers = index(std::max(1, lane.size() - 1));
  const std::size_t fair = std::max(kMinPieceBytes, kMaxSlotBytes / peers);
  const std::size_t most = lane.crosses_hosts ? kPieceBytesAcross : fair;
  const std::size_t bytes = std::min(lane.piece_bytes, most);
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(bytes / size_of(dtype)));
}

std::int64_t slots_for(const Lane& lane, std::size_t part_bytes, std::int64_t pieces) {
  std::int64_t slots = kSlotsInside;
  if (lane.crosses_hosts) {
    const auto room =
        static_cast<std::int64_t>(kSlotBytesAcross / (part_bytes * index(lane.size())));
    slots = std::clamp(room, kSlotsInside, kMaxSlotsAcross);
  }
  return std::min(slots, std::max<std::int64_t>(1, pieces));
}

/// One reduction on its way.
class Run {
 public:
  Run(Lane& lane, const PairwiseReduction& what)
      : lane_(lane), what_(what), width_(size_of(what.in.dtype)) {
    std::int64_t longest = 0;
    for (const Share& share : what.shares) longest = std::max(longest, share.count);
    length_ = std::min(piece_length(lane, what.in.dtype), std::max<std::int64_t>(1, longest));
    pieces_ = (longest + length_ - 1) / length_;
    part_bytes_ = aligned(index(length_) * width_);
    slots_ = slots_for(lane, part_bytes_, pieces_);
    memory_ = lane.scratch.reserve(index(slots_ * lane.size()) * part_bytes_);
    tickets_ = lane.scratch.tickets(index(slots_ * 2 * lane.size() * 2));
    std::fill(tickets_.begin(), tickets_.end(), kNoTicket);
  }

  void run() {
    const std::int64_t ahead = slots_ - 1;
    for (std::int64_t piece = 0; piece < pieces_ + ahead; ++piece) {
      if (piece < pieces_) post_contributions(piece);
      if (piece >= ahead) {
        reduce(piece - ahead);
        post_results(piece - ahead);
      }
    }
    lane_.transport.wait_all();
  }

 private:
  Share share_of(int rank) const { return what_.shares[index(rank)]; }
  Share piece_at(int rank, std::int64_t piece) const {
    return piece_of(share_of(rank), length_, piece);
  }
  // Where what `rank` has for this rank's piece comes in. The part of this rank itself holds a
  // result for which there is no room in out.
  TensorView part(int rank, std::int64_t piece, std::int64_t count) const {
    const std::int64_t number = piece % slots_ * lane_.size() + rank;
    return {memory_.data() + index(number) * part_bytes_, what_.in.dtype, 1, count};
  }
  bool has_out() const { return what_.results != Results::to_root || lane_.rank() == what_.root; }
  TensorView result(std::int64_t piece) const {
    const Share mine = piece_at(lane_.rank(), piece);
    return has_out() ? view_of(what_.out, mine, what_.out_begin)
                     : part(lane_.rank(), piece, mine.count);
  }
  // Of both directions of each step; contributions and results apart.
  enum class Kind { contribution, result };
  struct Step {
    Transport::Ticket& received;
    Transport::Ticket& sent;
  };
  std::span<Transport::Ticket> tickets_of(Kind kind, std::int64_t piece) const {
    const std::size_t n = 2 * index(lane_.size());
    return tickets_.subspan((index(piece % slots_) * 2 + static_cast<std::size_t>(kind)) * n, n);
  }
  Step step_of(Kind kind, std::int64_t piece, int k) const {
    const std::span<Transport::Ticket> tickets = tickets_of(kind, piece);
    return {tickets[2 * index(k)], tickets[2 * index(k) + 1]};
  }
  void wait_for(Kind kind, std::int64_t piece) {
    for (Transport::Ticket& ticket : tickets_of(kind, piece)) {
      if (ticket != kNoTicket) lane_.transport.wait(std::exchange(ticket, kNoTicket));
    }
  }

  void post_contributions(std::int64_t piece) {
    const Share mine = piece_at(lane_.rank(), piece);
    for (int k = 1; k < lane_.size(); ++k) {
      const int to = lane_.rank_at(k);
      const int from = lane_.rank_at(-k);
      const Share theirs = piece_at(to, piece);
      const Step step = step_of(Kind::contribution, piece, k);
      if (mine.count > 0) {
        step.received = lane_.transport.receive(from, bytes_of(part(from, piece, mine.count)));
      }
      if (theirs.count > 0) {
        step.sent = lane_.transport.send(to, bytes_of(view_of(what_.in, theirs)));
      }
    }
  }

  // What was sent of `in` is waited for as well: out may be the same memory.
  void reduce(std::int64_t piece) {
    wait_for(Kind::contribution, piece);
    wait_for(Kind::result, piece);  // of the piece that had this slot before
    const Share mine = piece_at(lane_.rank(), piece);
    if (mine.count == 0) return;
    const std::span<ConstTensorView> sources = lane_.scratch.sources(lane_.size());
    for (int rank = 0; rank < lane_.size(); ++rank) {
      sources[index(rank)] = rank == lane_.rank() ? view_of(what_.in, mine)
                                                  : ConstTensorView(part(rank, piece, mine.count));
    }
    const TensorView out = result(piece);
    kernels::reduce(lane_.device, {.destinations = {&out, 1}, .sources = sources, .op = what_.op});
  }

  void post_results(std::int64_t piece) {
    if (what_.results == Results::keep) return;
    const bool is_for_all = what_.results == Results::to_all;
    const Share mine = piece_at(lane_.rank(), piece);
    for (int k = 1; k < lane_.size(); ++k) {
      const int to = lane_.rank_at(k);
      const int from = lane_.rank_at(-k);
      const Share theirs = piece_at(from, piece);
      const Step step = step_of(Kind::result, piece, k);
      if (theirs.count > 0 && has_out()) {
        step.received =
            lane_.transport.receive(from, bytes_of(view_of(what_.out, theirs, what_.out_begin)));
      }
      if (mine.count > 0 && (is_for_all || to == what_.root)) {
        step.sent = lane_.transport.send(to, bytes_of(result(piece)));
      }
    }
  }

  Lane& lane_;
  const PairwiseReduction& what_;
  std::size_t width_;
  std::int64_t length_ = 1;
  std::int64_t pieces_ = 0;
  std::size_t part_bytes_ = 0;
  std::int64_t slots_ = 1;
  std::span<std::byte> memory_;           // [slots][ranks] parts
  std::span<Transport::Ticket> tickets_;  // [slots][kinds][ranks][2]
};

}  // namespace

void run(Lane& lane, const PairwiseReduction& reduction) {
  Run(lane, reduction).run();
}

}  // namespace muster::collectives::algorithms
