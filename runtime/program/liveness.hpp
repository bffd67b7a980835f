#pragma once

#include <cstdint>
#include <vector>

#include "runtime/program/list.hpp"

namespace muster::runtime {

/// Where every computed value of a list lies in one block of memory, the arena.
struct ArenaPlan {
  std::vector<std::int64_t>
      offsets;                   // per value: bytes from the start; -1 for other origins and views
  std::int64_t bytes = 0;        // size of the arena: exactly what must be allocated
  std::int64_t lower_bound = 0;  // most bytes alive at once: no plan can be smaller
};

/// Gives each computed value a place for the time from the first op that names it to the last.
/// Two values share bytes only if their times do not overlap. Places are multiples of 256 bytes.
///
/// Largest value first, each at the lowest place that is free for its whole time; for n values
/// O(n^2). With values A (ops 0-1), B (ops 1-2), C (ops 2-3) of one size:
///
///      op  0 1 2 3
///   256    . B B .
///     0    A A C C        two places for three values
ArenaPlan plan_arena(const List& list);

}  // namespace muster::runtime
