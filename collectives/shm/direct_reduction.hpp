#pragma once

#include <span>

#include "collectives/call.hpp"
#include "collectives/shm/lane.hpp"
#include "collectives/shm/pieces.hpp"

namespace muster::collectives::shm {

/// Reductions of private memory where ranks reach it (shm/private_memory.hpp): nothing is staged.
///
///   reduce   each rank reads its part of the other inputs, a tile at a time into memory that stays
///            in its cache, and reduces it with its own into its output:  n parts read, 1 written
///   gather   an all_reduce reads the others' parts from their outputs:   n - 1 parts copied
///
/// With n parts of S / n bytes: 2 - 2/n copies of S and one reduction, where staging takes twice
/// the copies. The sum is in rank order, rounded once, as by every other path. The ranks have met.
class DirectReduction {
 public:
  DirectReduction(Lane& lane, const Call& call) : lane_(lane), call_(call) {}

  void all_reduce();
  /// Each rank writes its part of the result to the root.
  void reduce();
  /// `share`: this rank's part of the input; the output holds it alone.
  void reduce_scatter(const Piece& share);

 private:
  template <typename Take>
  void reduce_part(const Piece& part, Take&& take);
  std::span<const ConstTensorView> read_tile(const Piece& tile);
  Piece slice(int rank) const noexcept {
    return slice_of(call_.in.count(), call_.in.dtype, rank, lane_.size());
  }

  Lane& lane_;
  const Call& call_;
};

}  // namespace muster::collectives::shm
