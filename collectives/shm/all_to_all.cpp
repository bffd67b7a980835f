#include <algorithm>
#include <cstring>
#include <numeric>
#include <span>

#include <fmt/format.h>

#include "collectives/shm/algorithms.hpp"
#include "collectives/shm/pieces.hpp"
#include "collectives/shm/pipeline.hpp"
#include "collectives/shm/shares.hpp"
#include "kernels/base/error.hpp"

namespace muster::collectives::shm {
namespace {

using Counts = std::span<const std::int64_t>;

std::int64_t count_of(Counts counts, int rank) noexcept {
  return counts[static_cast<std::size_t>(rank)];
}

/// The lists of counts of all ranks, in the slots for small messages: sent[size], wanted[size].
class CountTable {
 public:
  explicit CountTable(const Lane& lane) : lane_(lane) {}
  static constexpr std::size_t kMostRanks = kMaxOneShot / (2 * sizeof(std::int64_t));

  /// Before the ranks meet.
  void publish(const Call& call) const noexcept {
    std::byte* const slot = lane_.one_shot_slot(lane_.rank());
    std::memcpy(slot, call.in_counts.data(), call.in_counts.size_bytes());
    std::memcpy(slot + call.in_counts.size_bytes(), call.out_counts.data(),
                call.out_counts.size_bytes());
  }

  /// After that.
  Counts sent_by(int rank) const noexcept { return {numbers_of(rank), size()}; }
  Counts wanted_by(int rank) const noexcept { return {numbers_of(rank) + size(), size()}; }

  /// Compares all pairs, as all ranks do, so that all throw the same; the largest count between two
  /// ranks, alike on all.
  std::int64_t check() const {
    std::int64_t largest = 0;
    for (int from = 0; from < lane_.size(); ++from) {
      for (int to = 0; to < lane_.size(); ++to) {
        const std::int64_t sent = count_of(sent_by(from), to);
        if (sent != count_of(wanted_by(to), from)) throw_mismatch(from, to);
        if (from != to) largest = std::max(largest, sent);
      }
    }
    return largest;
  }

 private:
  std::size_t size() const noexcept { return static_cast<std::size_t>(lane_.size()); }
  const std::int64_t* numbers_of(int rank) const noexcept {
    return reinterpret_cast<const std::int64_t*>(lane_.one_shot_slot(rank));
  }
  [[noreturn]] void throw_mismatch(int from, int to) const {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{}: rank {} sends {} elements to rank {}, which expects {}: "
                            "in_counts[{}] of the one must be out_counts[{}] of the other",
                            lane_.describe_call(), from, count_of(sent_by(from), to), to,
                            count_of(wanted_by(to), from), to, from));
  }

  const Lane& lane_;
};
static_assert(CountTable::kMostRanks >= 1024);

/// The copying, once the ranks have met.
class Exchange {
 public:
  struct Plan {
    Shares in;
    Shares out;
    std::int64_t largest = 0;  // elements between any two ranks
  };

  Exchange(Lane& lane, const Call& call, const Plan& plan)
      : lane_(lane),
        call_(call),
        plan_(plan),
        dtype_(call.in.dtype),
        is_streaming_(exceeds_caches(call.out.bytes())) {}

  void run() {
    const Piece mine = plan_.in.share(lane_.rank());
    copy(lane_, output(plan_.out.share(lane_.rank())), input(mine), bytes_of(mine, dtype_),
         is_streaming_);
    if (plan_.largest == 0) return;
    const bool can_push = all_outputs_are_symmetric(lane_);
    const bool can_pull = all_inputs_are_symmetric(lane_);
    if (can_pull || (lane_.group().reaches_private && !can_push)) {
      pull();
    } else if (can_push) {
      push();
    } else {
      staged();
    }
  }

 private:
  const std::byte* input(const Piece& piece) const {
    return element(call_.in.data, dtype_, piece.begin);
  }
  std::byte* output(const Piece& piece) const {
    return element(call_.out.data, dtype_, piece.begin);
  }
  int peer(int step) const { return (lane_.rank() + step) % lane_.size(); }
  // Where this rank's share begins in a vector of a peer, whose counts are `theirs`.
  std::int64_t begin_at_peer(Counts theirs) const {
    return std::accumulate(theirs.begin(), theirs.begin() + lane_.rank(), std::int64_t{0});
  }
  bool has_counts() const { return call_.kind == CallKind::all_to_all_v; }

  void pull() {
    const CountTable table(lane_);
    for (int step = 1; step < lane_.size(); ++step) {
      const Piece share = plan_.out.share(peer(step));
      if (share.count == 0) continue;
      const std::int64_t begin = has_counts() ? begin_at_peer(table.sent_by(peer(step)))
                                              : plan_.in.share(lane_.rank()).begin;
      const Range range = {static_cast<std::size_t>(begin) * size_of(dtype_),
                           bytes_of(share, dtype_)};
      read_place(lane_, peer(step), lane_.payload_as<Places>(peer(step)).in, range, output(share),
                 is_streaming_);
    }
    lane_.leave();
  }

  void push() {
    const CountTable table(lane_);
    for (int step = 1; step < lane_.size(); ++step) {
      const Piece share = plan_.in.share(peer(step));
      if (share.count == 0) continue;
      const std::int64_t begin = has_counts() ? begin_at_peer(table.wanted_by(peer(step)))
                                              : plan_.out.share(lane_.rank()).begin;
      copy(lane_, element(output_of(lane_, peer(step)), dtype_, begin), input(share),
           bytes_of(share, dtype_), is_streaming_);
    }
    lane_.leave();
  }

  // A slot holds one piece of what goes to each rank.
  void staged() {
    const std::int64_t length = chunk_length(lane_, dtype_, lane_.size());
    const Chunks chunks(lane_, plan_.largest, length);
    const auto fill = [&](std::uint64_t chunk) {
      std::byte* const slot = lane_.chunk_slot(lane_.rank(), chunk);
      for (int step = 1; step < lane_.size(); ++step) {
        const Piece part = plan_.in.part(peer(step), chunks.piece(chunk));
        copy(lane_, element(slot, dtype_, length * peer(step)), input(part), bytes_of(part, dtype_),
             false);
      }
    };
    const auto take = [&](std::uint64_t chunk) {
      for (int step = 1; step < lane_.size(); ++step) {
        const Piece part = plan_.out.part(peer(step), chunks.piece(chunk));
        if (part.count == 0) continue;
        lane_.wait(Counter::staged, chunk + 1, peer(step));
        const std::byte* const slot = lane_.chunk_slot(peer(step), chunk);
        copy(lane_, output(part), element(slot, dtype_, length * lane_.rank()),
             bytes_of(part, dtype_), is_streaming_);
      }
    };
    pipeline(
        lane_, chunks, [&](std::uint64_t chunk) { lane_.stage_chunk(chunk, fill); }, take);
  }

  Lane& lane_;
  const Call& call_;
  const Plan& plan_;
  Dtype dtype_;
  bool is_streaming_;
};

void small_all_to_all(Lane& lane, const Call& call) {
  const std::size_t bytes = call.in.bytes();
  const std::size_t share = bytes / static_cast<std::size_t>(lane.size());
  meet_with_data(lane, call.in.data, bytes);
  for (int rank = 0; rank < lane.size(); ++rank) {
    const std::byte* const data = rank == lane.rank() ? call.in.data : data_of(lane, rank, bytes);
    copy(lane, call.out.data + share * static_cast<std::size_t>(rank),
         data + share * static_cast<std::size_t>(lane.rank()), share, false);
  }
}

}  // namespace

void all_to_all(Lane& lane, const Call& call) {
  if (call.in.bytes() <= kSmallBytes) return small_all_to_all(lane, call);
  meet_with_places(lane, call);
  const std::int64_t share = call.in.count() / lane.size();
  Exchange(lane, call, {Shares::even(share), Shares::even(share), share}).run();
}

void all_to_all_v(Lane& lane, const Call& call) {
  const CountTable table(lane);
  table.publish(call);
  meet_with_places(lane, call);
  const std::int64_t largest = table.check();
  Exchange(lane, call,
           {Shares::of(call.in_counts, lane.begins(0)), Shares::of(call.out_counts, lane.begins(1)),
            largest})
      .run();
}

}  // namespace muster::collectives::shm
