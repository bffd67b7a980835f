#pragma once

#include "kernels/base/tensor_view.hpp"
#include "kernels/device/device.hpp"

namespace muster::kernels {

/// Rotary position embedding in the rotate-half convention of Hugging Face (Su et al.,
/// arXiv 2104.09864). For each head of width d, i < d/2, p = positions[t], in f32:
///
///   x'[i]       = x[i] * cos[p, i] - x[i + d/2] * sin[p, i]
///   x'[i + d/2] = x[i + d/2] * cos[p, i] + x[i] * sin[p, i]
///
///   x         : [tokens, heads * head_dim]   rotated in place; rows may be strided
///   positions : [1, tokens] i32              each in [0, rows of cos)
///   cos, sin  : [max_position, head_dim / 2] f32
///   inverse   : rotate by the negative angle; that is the backward
struct RopeArgs {
  TensorView x;
  ConstTensorView positions;
  ConstTensorView cos;
  ConstTensorView sin;
  std::int64_t head_dim = 0;
  bool inverse = false;
};
void rope(Device& device, const RopeArgs& args);

}  // namespace muster::kernels
