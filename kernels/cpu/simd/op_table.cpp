#include "kernels/ops/op_table.hpp"

#include "kernels/cpu/simd/kernels.hpp"

namespace muster::kernels::cpu::MUSTER_ISA {

const OpTable& op_table() {
  static constexpr OpTable kTable{
      .embedding = embedding,
      .embedding_backward = embedding_backward,
      .rms_norm = nullptr,
      .rms_norm_backward = nullptr,
      .matmul = nullptr,
      .column_sum = nullptr,
      .rope = rope,
      .attention = nullptr,
      .attention_backward = nullptr,
      .swiglu = nullptr,
      .swiglu_backward = nullptr,
      .softmax_statistics = nullptr,
      .softmax_loss = nullptr,
      .softmax_gradient = nullptr,
      .add = add,
      .cast = cast,
      .fill = fill,
      .accumulate = accumulate,
      .reduce = nullptr,
      .norm_squared = nullptr,
      .adamw = nullptr,
  };
  return kTable;
}

}  // namespace muster::kernels::cpu::MUSTER_ISA
