#pragma once

#include <bit>

#include "collectives/algorithms/lane.hpp"
#include "collectives/call.hpp"

namespace muster::collectives::algorithms {

/// The ranks of a group as a power of two: the first ranks form pairs of which the even one, in the
/// core, speaks for both. Members of the core are numbered in rank order.
///
///   n = 6:   ranks  0 1   2 3   4   5
///            core    0     1    2   3
class Core {
 public:
  explicit Core(const Lane& lane)
      : rank_(lane.rank()),
        size_(static_cast<int>(std::bit_floor(static_cast<unsigned>(lane.size())))),
        pairs_(lane.size() - size_) {}

  int size() const noexcept { return size_; }
  bool is_in_pair() const noexcept { return rank_ < 2 * pairs_; }
  bool is_member() const noexcept { return !is_in_pair() || rank_ % 2 == 0; }
  /// The other of the pair.
  int partner() const noexcept { return rank_ ^ 1; }
  /// This rank's number in the core.
  int number() const noexcept { return is_in_pair() ? rank_ / 2 : rank_ - pairs_; }
  int rank_of(int number) const noexcept { return number < pairs_ ? 2 * number : number + pairs_; }

 private:
  int rank_;
  int size_;
  int pairs_;
};

/// The memory of an algorithm whose partial results are vectors as long as the data.
struct Partials {
  TensorView sum;       // what this rank has so far
  TensorView received;  // what comes in
};
Partials make_partials(Lane& lane, const Call& call);

/// Begins `partials.sum` with what this rank has, and with its partner's where it speaks for both;
/// the partner's is sent as it is. Returns false where the partner speaks: there is nothing left to
/// do but receive_result().
bool begin_in_core(Lane& lane, const Core& core, const Call& call, const Partials& partials);
/// The result goes back to those who had others speak for them.
void share_result(Lane& lane, const Core& core, const Call& call);

/// Calls body(part) for parts of the call so long that two partial results of each fit the cache.
template <typename Body>
void in_segments(const Lane& lane, const Call& call, Body&& body) {
  constexpr std::size_t kPiecesOfSegment = 8;
  const auto length =
      static_cast<std::int64_t>(lane.piece_bytes * kPiecesOfSegment / size_of(call.in.dtype));
  for (std::int64_t begin = 0; begin < call.count; begin += length) {
    const Share share = piece_of({0, call.count}, length, begin / length);
    Call part = call;
    part.in = view_of(call.in, share);
    if (part.out.count() > 0) part.out = view_of(call.out, share);
    part.count = share.count;
    body(part);
  }
}

}  // namespace muster::collectives::algorithms
