#pragma once

#include "kernels/base/tensor_view.hpp"
#include "kernels/device/device.hpp"

namespace muster::kernels {

/// h = silu(gate) * up, silu(z) = z / (1 + exp(-z)), in f32 (Shazeer, arXiv 2002.05202).
///
///   h, gate, up : [tokens, ffn] f32, f16 or bf16; rows may be strided; h may be gate or up
struct SwigluArgs {
  TensorView h;
  ConstTensorView gate;
  ConstTensorView up;
};
void swiglu(Device& device, const SwigluArgs& args);

/// With s = 1 / (1 + exp(-gate)):
///
///   dgate = dh * up * s * (1 + gate * (1 - s));   dup = dh * gate * s
///
/// All [tokens, ffn] of one dtype; rows may be strided; dgate may be gate, dup may be up or dh.
struct SwigluBackwardArgs {
  TensorView dgate;
  TensorView dup;
  ConstTensorView dh;
  ConstTensorView gate;
  ConstTensorView up;
};
void swiglu_backward(Device& device, const SwigluBackwardArgs& args);

}  // namespace muster::kernels
