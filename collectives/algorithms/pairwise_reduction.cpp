#include "collectives/algorithms/pairwise_reduction.hpp"

#include <algorithm>
#include <limits>

#include "kernels/ops/reduce.hpp"

namespace muster::collectives::algorithms {
namespace {

constexpr Transport::Ticket kNoTicket = std::numeric_limits<Transport::Ticket>::max();
constexpr std::int64_t kSlots = 2;  // pieces on the way at once
// Large groups take smaller pieces, so that those of all ranks together stay in the cache.
constexpr std::size_t kMaxSlotBytes = 4 << 20;
constexpr std::size_t kMinPieceBytes = 64 << 10;

std::size_t index(std::int64_t number) {
  return static_cast<std::size_t>(number);
}

// Elements of one piece.
std::int64_t piece_length(const Lane& lane, Dtype dtype) {
  const std::size_t peers = index(std::max(1, lane.size() - 1));
  const std::size_t fair = std::max(kMinPieceBytes, kMaxSlotBytes / peers);
  const std::size_t bytes = std::min(lane.piece_bytes, fair);
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(bytes / size_of(dtype)));
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
    memory_ = lane.scratch.reserve(index(kSlots * lane.size()) * part_bytes_);
    tickets_ = lane.scratch.tickets(index(kSlots * lane.size() * 2));
  }

  void run() {
    for (std::int64_t piece = 0; piece <= pieces_; ++piece) {
      if (piece < pieces_) post_contributions(piece);
      if (piece > 0) {
        reduce(piece - 1);
        post_results(piece - 1);
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
    const std::int64_t number = piece % kSlots * lane_.size() + rank;
    return {memory_.data() + index(number) * part_bytes_, what_.in.dtype, 1, count};
  }
  bool has_out() const { return what_.results != Results::to_root || lane_.rank() == what_.root; }
  TensorView result(std::int64_t piece) const {
    const Share mine = piece_at(lane_.rank(), piece);
    return has_out() ? view_of(what_.out, mine, what_.out_begin)
                     : part(lane_.rank(), piece, mine.count);
  }
  std::span<Transport::Ticket> tickets_of(std::int64_t piece) const {
    const std::size_t n = tickets_.size() / index(kSlots);
    return tickets_.subspan(index(piece % kSlots) * n, n);
  }

  void post_contributions(std::int64_t piece) {
    const Share mine = piece_at(lane_.rank(), piece);
    const std::span<Transport::Ticket> tickets = tickets_of(piece);
    for (int k = 1; k < lane_.size(); ++k) {
      const int to = lane_.rank_at(k);
      const int from = lane_.rank_at(-k);
      const Share theirs = piece_at(to, piece);
      Transport::Ticket& received = tickets[index(2 * k)];
      Transport::Ticket& sent = tickets[index(2 * k + 1)];
      received = sent = kNoTicket;
      if (mine.count > 0) {
        received = lane_.transport.receive(from, bytes_of(part(from, piece, mine.count)));
      }
      if (theirs.count > 0) {
        sent = lane_.transport.send(to, bytes_of(view_of(what_.in, theirs)));
      }
    }
  }

  // What was sent of `in` is waited for as well: out may be the same memory.
  void reduce(std::int64_t piece) {
    for (const Transport::Ticket ticket : tickets_of(piece).subspan(2)) {
      if (ticket != kNoTicket) lane_.transport.wait(ticket);
    }
    if (piece >= kSlots && !has_out()) lane_.transport.wait(result_sent_[index(piece % kSlots)]);
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
      if (theirs.count > 0 && has_out()) {
        lane_.transport.receive(from, bytes_of(view_of(what_.out, theirs, what_.out_begin)));
      }
      if (mine.count > 0 && (is_for_all || to == what_.root)) {
        result_sent_[index(piece % kSlots)] = lane_.transport.send(to, bytes_of(result(piece)));
      }
    }
  }

  Lane& lane_;
  const PairwiseReduction& what_;
  std::size_t width_;
  std::int64_t length_ = 1;
  std::int64_t pieces_ = 0;
  std::size_t part_bytes_ = 0;
  std::span<std::byte> memory_;           // [kSlots][ranks] parts
  std::span<Transport::Ticket> tickets_;  // [kSlots][ranks][2]: of steps, received and sent
  Transport::Ticket result_sent_[kSlots] = {};
};

}  // namespace

void run(Lane& lane, const PairwiseReduction& reduction) {
  Run(lane, reduction).run();
}

}  // namespace muster::collectives::algorithms
