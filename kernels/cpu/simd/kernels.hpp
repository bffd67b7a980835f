#pragma once

#include "kernels/ops/op_table.hpp"

namespace muster::kernels::cpu::MUSTER_ISA {

/// The kernels of this folder, one copy per instruction set; each is defined in the file named
/// after its header in kernels/ops. Arguments are already checked, and no view is empty.
void embedding(Device& device, const EmbeddingArgs& args);
void embedding_backward(Device& device, const EmbeddingBackwardArgs& args);
void rms_norm(Device& device, const RmsNormArgs& args);
void rms_norm_backward(Device& device, const RmsNormBackwardArgs& args);
void column_sum(Device& device, const ColumnSumArgs& args);
void rope(Device& device, const RopeArgs& args);
void attention(Device& device, const AttentionArgs& args);
void attention_backward(Device& device, const AttentionBackwardArgs& args);
void swiglu(Device& device, const SwigluArgs& args);
void swiglu_backward(Device& device, const SwigluBackwardArgs& args);
void geglu(Device& device, const GegluArgs& args);
void geglu_backward(Device& device, const GegluBackwardArgs& args);
void softmax_statistics(Device& device, const SoftmaxStatisticsArgs& args);
void softmax_loss(Device& device, const SoftmaxLossArgs& args);
void softmax_gradient(Device& device, const SoftmaxGradientArgs& args);
void add(Device& device, const AddArgs& args);
void cast(Device& device, const CastArgs& args);
void fill(Device& device, const FillArgs& args);
void accumulate(Device& device, const AccumulateArgs& args);
void reduce(Device& device, const ReduceArgs& args);
void norm_squared(Device& device, const NormSquaredArgs& args);
void adamw(Device& device, const AdamwArgs& args);

/// The list of the kernels above.
const OpTable& op_table();

}  // namespace muster::kernels::cpu::MUSTER_ISA
