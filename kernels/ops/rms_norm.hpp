#pragma once

#include "kernels/base/tensor_view.hpp"
#include "kernels/device/device.hpp"

namespace muster::kernels {

/// Scales every row of x to unit root mean square, then every column by its gain
/// (Zhang and Sennrich, arXiv 1910.07467; as in Hugging Face's modeling_llama):
///
///   rstd[r] = 1 / sqrt(mean over c of x[r, c]^2 + eps)
///   y[r, c] = round(x[r, c] * rstd[r]) * gain[c]      round: to the dtype of y
///
///   y, x   : [tokens, hidden]  f32, f16 or bf16; y may be x
///   gain   : [1, hidden]       dtype of x
///   rstd   : [1, tokens] f32   kept for backward; may be none
///   addend : [tokens, hidden]  dtype of x, or none. If given, x + addend is what is normalised
///   sum    : [tokens, hidden]  receives x + addend (rounded to its dtype, and that is what is
///                              normalised); given exactly when addend is; may be x or addend
struct RmsNormArgs {
  TensorView y;
  TensorView rstd{};
  ConstTensorView x;
  ConstTensorView gain;
  float eps = 1e-5F;
  ConstTensorView addend{};
  TensorView sum{};
};
void rms_norm(Device& device, const RmsNormArgs& args);

/// With g = dy * gain and xhat = x * rstd, all in f32:
///
///   dx[r, c]  = rstd[r] * (g[r, c] - xhat[r, c] * mean over c of (g * xhat)) + addend[r, c]
///   dgain[c] (+)= sum over r of dy[r, c] * xhat[r, c]
///
///   dx, dy, x : [tokens, hidden]    f32, f16 or bf16; dx may be dy or addend
///   addend    : as dx, or none      the gradient that reaches x by another way (the residual)
///   dgain     : [1, hidden] f32, or none when the gain is frozen
///   rstd      : [1, tokens] f32
struct RmsNormBackwardArgs {
  TensorView dx;
  TensorView dgain{};
  ConstTensorView dy;
  ConstTensorView x;
  ConstTensorView gain;
  ConstTensorView rstd;
  ConstTensorView addend{};
  bool accumulate = false;  // dgain: add to what is there
};
void rms_norm_backward(Device& device, const RmsNormBackwardArgs& args);

}  // namespace muster::kernels
