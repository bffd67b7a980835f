#pragma once

#include "kernels/base/tensor_view.hpp"
#include "kernels/device/device.hpp"

namespace muster::kernels {

/// What changes from step to step; host memory, read when the op runs.
struct AdamwStep {
  float lr = 0.0F;
  float gradient_scale = 1.0F;    // multiplies every gradient: clip coefficient / loss scale
  double bias_correction1 = 1.0;  // 1 - beta1^t, t = 1, 2, …
  double bias_correction2 = 1.0;  // 1 - beta2^t
};

/// One AdamW update (Loshchilov and Hutter, arXiv 1711.05101; arithmetic of torch.optim.AdamW),
/// f32:
///
///   g = gradient_scale * grad;  p -= lr * weight_decay * p
///   m = beta1 m + (1 - beta1) g;  v = beta2 v + (1 - beta2) g^2
///   p -= lr / bias_correction1 * m / (sqrt(v) / sqrt(bias_correction2) + eps)
///
///   master, m, v, grad : [1, n] f32, updated in place (grad is read only)
///   compute            : [1, n] f16 or bf16, receives the rounded p; none when the model computes
///                        with `master` itself
struct AdamwArgs {
  TensorView master;
  TensorView m;
  TensorView v;
  ConstTensorView grad;
  TensorView compute{};
  float beta1 = 0.9F;
  float beta2 = 0.95F;
  float eps = 1e-8F;
  float weight_decay = 0.0F;
  const AdamwStep* step = nullptr;
};
void adamw(Device& device, const AdamwArgs& args);

}  // namespace muster::kernels
