#pragma once

#include <cstdint>
#include <span>

#include "collectives/shm/lane.hpp"
#include "collectives/shm/pieces.hpp"

namespace muster::collectives::shm {

/// How a vector is dealt out to the ranks, one share after the other.
class Shares {
 public:
  /// Each rank gets `count` elements.
  static Shares even(std::int64_t count) noexcept;
  /// Rank r gets counts[r] elements. `begins`, [size], keeps where they begin; both outlive this.
  static Shares of(std::span<const std::int64_t> counts, std::span<std::int64_t> begins) noexcept;

  Piece share(int rank) const noexcept;
  std::int64_t largest() const noexcept { return largest_; }

  /// What the share of `rank` has of `piece`, a piece of the largest share; perhaps nothing. It
  /// begins where it begins in the whole vector.
  Piece part(int rank, const Piece& piece) const noexcept;

 private:
  std::int64_t largest_ = 0;
  std::span<const std::int64_t> counts_;  // empty: all are the largest
  std::span<const std::int64_t> begins_;
};

/// Meets the others as meet_with_places() does, and compares the lists of counts. One that differs
/// is an Error(invalid_argument) on all ranks.
void meet_with_counts(Lane& lane, const Call& call);

}  // namespace muster::collectives::shm
