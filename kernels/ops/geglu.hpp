#pragma once

#include "kernels/base/tensor_view.hpp"
#include "kernels/device/device.hpp"

namespace muster::kernels {

/// h = gelu(gate) * up with the tanh form of gelu, in f32 (Shazeer, arXiv 2002.05202; Hendrycks and
/// Gimpel, arXiv 1606.08415; "gelu_pytorch_tanh" of Hugging Face). Since (1 + tanh(w)) / 2 is the
/// logistic function of 2 w:
///
///   gelu(z) = z * s(z),  s(z) = 1 / (1 + exp(-2 w)),  w = sqrt(2 / pi) * (z + 0.044715 z^3)
///
///   h, gate, up : [tokens, ffn] f32, f16 or bf16; rows may be strided; h may be gate or up
struct GegluArgs {
  TensorView h;
  ConstTensorView gate;
  ConstTensorView up;
};
void geglu(Device& device, const GegluArgs& args);

/// With s and w of gate, w' = sqrt(2 / pi) * (1 + 3 * 0.044715 gate^2):
///
///   dgate = dh * up * s * (1 + 2 gate * (1 - s) * w');   dup = dh * gate * s
///
/// All [tokens, ffn] of one dtype; rows may be strided; dgate may be gate, dup may be up or dh.
struct GegluBackwardArgs {
  TensorView dgate;
  TensorView dup;
  ConstTensorView dh;
  ConstTensorView gate;
  ConstTensorView up;
};
void geglu_backward(Device& device, const GegluBackwardArgs& args);

}  // namespace muster::kernels
