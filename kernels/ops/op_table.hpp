#pragma once

#include "kernels/ops/adamw.hpp"
#include "kernels/ops/attention.hpp"
#include "kernels/ops/elementwise.hpp"
#include "kernels/ops/embedding.hpp"
#include "kernels/ops/geglu.hpp"
#include "kernels/ops/matmul.hpp"
#include "kernels/ops/reduce.hpp"
#include "kernels/ops/rms_norm.hpp"
#include "kernels/ops/rope.hpp"
#include "kernels/ops/softmax.hpp"
#include "kernels/ops/swiglu.hpp"

namespace muster::kernels {

/// A kernel: arguments are already checked, and no view is empty.
template <typename Args>
using Kernel = void (*)(Device&, const Args&);

/// THE LIST of ops: what a device must be able to do, one line each.
struct OpTable {
  Kernel<EmbeddingArgs> embedding;
  Kernel<EmbeddingBackwardArgs> embedding_backward;
  Kernel<RmsNormArgs> rms_norm;
  Kernel<RmsNormBackwardArgs> rms_norm_backward;
  Kernel<MatmulArgs> matmul;
  Kernel<ColumnSumArgs> column_sum;
  Kernel<RopeArgs> rope;
  Kernel<AttentionArgs> attention;
  Kernel<AttentionBackwardArgs> attention_backward;
  Kernel<SwigluArgs> swiglu;
  Kernel<SwigluBackwardArgs> swiglu_backward;
  Kernel<GegluArgs> geglu;
  Kernel<GegluBackwardArgs> geglu_backward;
  Kernel<SoftmaxStatisticsArgs> softmax_statistics;
  Kernel<SoftmaxLossArgs> softmax_loss;
  Kernel<SoftmaxGradientArgs> softmax_gradient;
  Kernel<AddArgs> add;
  Kernel<CastArgs> cast;
  Kernel<FillArgs> fill;
  Kernel<AccumulateArgs> accumulate;
  Kernel<ReduceArgs> reduce;
  Kernel<NormSquaredArgs> norm_squared;
  Kernel<AdamwArgs> adamw;
};

}  // namespace muster::kernels
