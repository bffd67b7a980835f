#pragma once

#include "kernels/base/tensor_view.hpp"
#include "kernels/device/device.hpp"

namespace muster::kernels {

/// What cross-entropy needs of a chunk of logits, so that a vocabulary cut over ranks can combine
/// the parts before the gradient is made. vocab here is this rank's part, which begins at
/// vocab_begin; a row whose target lies elsewhere or is negative (masked) gets target = 0.
///
///   logits  : [rows, vocab] f32, f16 or bf16
///   targets : [1, rows] i32       negative: no loss for this row
///   max     : [1, rows] f32       largest logit
///   sum     : [1, rows] f32       sum of exp(logit - max)
///   target  : [1, rows] f32       logit of the target
struct SoftmaxStatisticsArgs {
  TensorView max;
  TensorView sum;
  TensorView target;
  ConstTensorView logits;
  ConstTensorView targets;
  std::int64_t vocab_begin = 0;
};
void softmax_statistics(Device& device, const SoftmaxStatisticsArgs& args);

/// loss (+)= sum over the rows with targets >= 0 of max + log(sum) - target.
///
///   loss : [1, 1] f64; the others as above
struct SoftmaxLossArgs {
  TensorView loss;
  ConstTensorView max;
  ConstTensorView sum;
  ConstTensorView target;
  ConstTensorView targets;
  bool accumulate = false;
};
void softmax_loss(Device& device, const SoftmaxLossArgs& args);

/// The gradient of the loss with respect to the logits, times seed[0]:
///
///   dlogits[r, c] = seed * (exp(logits[r, c] - max[r]) / sum[r] - [c + vocab_begin == targets[r]])
///   and 0 in rows with a negative target.
///
///   dlogits : [rows, vocab]  any of f32, f16, bf16; may be logits when the dtype is the same
///   seed    : [1, 1] f32     loss scale / global number of target tokens
struct SoftmaxGradientArgs {
  TensorView dlogits;
  ConstTensorView logits;
  ConstTensorView max;
  ConstTensorView sum;
  ConstTensorView targets;
  ConstTensorView seed;
  std::int64_t vocab_begin = 0;
};
void softmax_gradient(Device& device, const SoftmaxGradientArgs& args);

}  // namespace muster::kernels
