#pragma once

#include "kernels/base/tensor_view.hpp"
#include "kernels/device/device.hpp"

namespace muster::kernels {

/// Causal attention with grouped key/value heads and document boundaries, in tiles, so that memory
/// is linear in the number of tokens (Dao et al., arXiv 2205.14135). Head h reads key/value head
/// h / (heads / kv_heads). Token t sees the tokens [bounds[t], t] of the micro-batch:
///
///   score[t, j] = scale * q[t] . k[j]            j in [bounds[t], t], f32
///   lse[h, t]   = log of the sum over j of exp(score[t, j])
///   out[t]      = sum over j of exp(score[t, j] - lse[h, t]) v[j]
///
///   out, q : [tokens, heads * head_dim]          rows may be strided
///   k, v   : [tokens, kv_heads * head_dim]       dtype of q
///   lse    : [heads, tokens] f32
///   bounds : [1, tokens] i32                     first token of t's document; 0 <= bounds[t] <= t,
///                                                never falling
struct AttentionArgs {
  TensorView out;
  TensorView lse;
  ConstTensorView q;
  ConstTensorView k;
  ConstTensorView v;
  ConstTensorView bounds;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  float scale = 1.0F;
};
void attention(Device& device, const AttentionArgs& args);

/// With p[t, j] = exp(score[t, j] - lse[h, t]) and delta[t] = dout[t] . out[t], in f32:
///
///   dv[j] = sum over h, t of p[t, j] dout[t]
///   ds    = p * (dout[t] . v[j] - delta[t])
///   dq[t] = scale * sum over j of ds[t, j] k[j];  dk[j] = scale * sum over h, t of ds[t, j] q[t]
///
/// Shapes as forward; dq, dk, dv may be column blocks of one matrix. They alias nothing.
struct AttentionBackwardArgs {
  TensorView dq;
  TensorView dk;
  TensorView dv;
  ConstTensorView dout;
  ConstTensorView out;
  ConstTensorView q;
  ConstTensorView k;
  ConstTensorView v;
  ConstTensorView lse;
  ConstTensorView bounds;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  float scale = 1.0F;
};
void attention_backward(Device& device, const AttentionBackwardArgs& args);

}  // namespace muster::kernels
