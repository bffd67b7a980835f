#pragma once

#include <cstdint>
#include <optional>

#include "kernels/base/tensor_view.hpp"
#include "kernels/ops/reduce.hpp"

namespace muster::runtime {

/// What the ranks' inputs are made from. Every element is a function of (seed, index, rank), and
/// the inputs of a reduction are chosen so that its result is exact in whatever order, grouping and
/// precision it is computed:
///
///     sum, avg   a random integer that the dtype holds is divided into one share per rank, all of
///                one sign, and scaled by a power of two: every partial sum is exact
///     prod       one rank has a factor with a full mantissa, four others 2 or 1/2 (integers: 1 or
///                2), the rest 1
///     max, min   one rank has the extreme, the others lie on its far side
///
/// Which rank has which part changes from element to element.
struct InputPattern {
  Dtype dtype = Dtype::f32;
  std::optional<kernels::ReduceOp> op;  // none: a call that only moves elements
  int ranks = 1;
  std::uint64_t seed = 0;
};

/// `origin` of elements that are a reduction over all ranks rather than one rank's input.
inline constexpr int kReduced = -1;

/// out[i] = element first + i of the input of rank `origin`, or of the result for kReduced. An
/// average is what division of the sum in f64 gives. out: [1, n] of the pattern's dtype, aligned to
/// its elements.
void fill_pattern(const InputPattern& pattern, int origin, std::int64_t first, TensorView out);

}  // namespace muster::runtime
