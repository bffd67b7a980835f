#pragma once

#include <span>

#include "kernels/base/tensor_view.hpp"
#include "kernels/device/device.hpp"

namespace muster::kernels {

enum class ReduceOp { sum, avg, max, min, prod };

/// Combines n sources element by element, in the order of the list, and writes the result to every
/// destination. 16-bit floats are combined in f32 and rounded once; avg divides by the number of
/// sources before rounding (integers: rounded towards zero); max and min propagate NaN.
///
///   sources, destinations : contiguous, of one dtype and count; a destination may be one of the
///                           sources, whole, but may not overlap it otherwise
///   streaming : the destinations are far larger than the last-level cache and not read soon:
///               store past the cache
///
/// f64, f32, f16, bf16, i64, i32, i8, u8. 1 to 1024 sources.
struct ReduceArgs {
  std::span<const TensorView> destinations;
  std::span<const ConstTensorView> sources;
  ReduceOp op = ReduceOp::sum;
  bool streaming = false;
};
void reduce(Device& device, const ReduceArgs& args);

/// out[0] (+)= sum of x^2 over the finite and infinite elements alike, in f64;
/// out[1] = 1 if any element is not finite, else unchanged (0 when not accumulating).
///
///   out : [1, 2] f64
///   x   : f32, f16 or bf16, any shape
///
/// The sum is taken in blocks of fixed size in a fixed order: it does not depend on threads.
struct NormSquaredArgs {
  TensorView out;
  ConstTensorView x;
  bool accumulate = false;
};
void norm_squared(Device& device, const NormSquaredArgs& args);

}  // namespace muster::kernels
