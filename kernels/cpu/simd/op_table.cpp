#include "kernels/ops/op_table.hpp"

#include "kernels/cpu/matmul.hpp"
#include "kernels/cpu/simd/kernels.hpp"

namespace muster::kernels::cpu::MUSTER_ISA {

const OpTable& op_table() {
  static constexpr OpTable kTable{
      .embedding = embedding,
      .embedding_backward = embedding_backward,
      .rms_norm = rms_norm,
      .rms_norm_backward = rms_norm_backward,
      .matmul = cpu::matmul,
      .column_sum = column_sum,
      .rope = rope,
      .attention = attention,
      .attention_backward = attention_backward,
      .swiglu = swiglu,
      .swiglu_backward = swiglu_backward,
      .geglu = geglu,
      .geglu_backward = geglu_backward,
      .softmax_statistics = softmax_statistics,
      .softmax_loss = softmax_loss,
      .softmax_gradient = softmax_gradient,
      .add = add,
      .cast = cast,
      .fill = fill,
      .accumulate = accumulate,
      .reduce = reduce,
      .norm_squared = norm_squared,
      .adamw = adamw,
  };
  return kTable;
}

}  // namespace muster::kernels::cpu::MUSTER_ISA
