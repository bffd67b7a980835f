#pragma once

#include "kernels/base/tensor_view.hpp"
#include "kernels/device/device.hpp"

namespace muster::kernels {

/// c = op(a) * op(b) [+ c] [+ bias], sums in f32.
///
///   op(a) : [m, k]   a is [m, k], or [k, m] with transpose_a
///   op(b) : [k, n]   b is [k, n], or [n, k] with transpose_b
///   c     : [m, n]   f32 whatever a and b are, or their dtype
///   bias  : [1, n]   dtype of a, or none
///
/// a and b have one dtype: f32, bf16 or f16. Rows may be strided. c aliases nothing.
/// A linear layer with weight [out, in] is y = x * weight^T (transpose_b); its backward
/// dx = dy * weight, and dweight = dy^T * x (transpose_a, c in f32, accumulate).
struct MatmulArgs {
  TensorView c;
  ConstTensorView a;
  ConstTensorView b;
  bool transpose_a = false;
  bool transpose_b = false;
  bool accumulate = false;
  ConstTensorView bias{};
};
void matmul(Device& device, const MatmulArgs& args);

/// out[c] (+)= sum over r of x[r, c]: the gradient of a bias.
///
///   out : [1, cols] f32
///   x   : [rows, cols] f32, f16 or bf16
struct ColumnSumArgs {
  TensorView out;
  ConstTensorView x;
  bool accumulate = false;
};
void column_sum(Device& device, const ColumnSumArgs& args);

}  // namespace muster::kernels
