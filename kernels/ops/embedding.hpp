#pragma once

#include "kernels/base/tensor_view.hpp"
#include "kernels/device/device.hpp"

namespace muster::kernels {

/// y[t, :] = table[tokens[t], :]
///
///   y      : [tokens, hidden]   f32, f16 or bf16
///   table  : [vocab, hidden]    dtype of y
///   tokens : [1, tokens] i32    every id in [0, vocab): the loader has checked them
struct EmbeddingArgs {
  TensorView y;
  ConstTensorView table;
  ConstTensorView tokens;
};
void embedding(Device& device, const EmbeddingArgs& args);

/// dtable[tokens[t], :] += dy[t, :], rows added in order of t, so the result does not depend on
/// the number of threads.
///
///   dtable     : [vocab, hidden] f32
///   dy         : [tokens, hidden] f32, f16 or bf16
///   tokens     : [1, tokens] i32
///   accumulate : false sets dtable to zero first
struct EmbeddingBackwardArgs {
  TensorView dtable;
  ConstTensorView dy;
  ConstTensorView tokens;
  bool accumulate = false;
};
void embedding_backward(Device& device, const EmbeddingBackwardArgs& args);

}  // namespace muster::kernels
