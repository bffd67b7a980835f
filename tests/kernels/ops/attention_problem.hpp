#pragma once

#include <cmath>
#include <numeric>
#include <ostream>
#include <vector>

#include "kernels/ops/attention.hpp"
#include "tests/support/close.hpp"
#include "tests/support/reference_attention.hpp"
#include "tests/support/tensor.hpp"

namespace muster::test {

/// Queries and keys are standard normal and scores are divided by sqrt(head_dim), so results are
/// near 1 and the error of f32 sums over some hundred products stays below this.
inline constexpr double kAttentionF32Error = 1e-5;

struct AttentionShape {
  std::vector<std::int64_t> documents;  // their lengths
  std::int64_t heads;
  std::int64_t kv_heads;
  std::int64_t head_dim;

  std::int64_t tokens() const {
    return std::accumulate(documents.begin(), documents.end(), std::int64_t{0});
  }
  std::int64_t q_cols() const { return heads * head_dim; }
  std::int64_t kv_cols() const { return kv_heads * head_dim; }
  float scale() const { return 1.0F / std::sqrt(static_cast<float>(head_dim)); }
  std::vector<std::int32_t> bounds() const {
    std::vector<std::int32_t> result;
    for (const std::int64_t length : documents) {
      result.insert(result.end(), static_cast<std::size_t>(length),
                    static_cast<std::int32_t>(result.size()));
    }
    return result;
  }
};

// NOLINTNEXTLINE(readability-identifier-naming): the name GoogleTest looks for
inline void PrintTo(const AttentionShape& shape, std::ostream* out) {
  for (const std::int64_t length : shape.documents) *out << length << '+';
  *out << " heads " << shape.heads << '/' << shape.kv_heads << " of " << shape.head_dim;
}

/// Everything attention reads and writes. Queries, keys and values are column blocks of one matrix,
/// as a fused projection leaves them, and so are their gradients.
struct AttentionProblem {
  AttentionProblem(const AttentionShape& shape_in, Dtype dtype)
      : shape(shape_in),
        bounds(shape.bounds()),
        qkv(dtype, shape.tokens(), shape.q_cols() + 2 * shape.kv_cols(), 3),
        out(dtype, shape.tokens(), shape.q_cols(), 1),
        lse(Dtype::f32, shape.heads, shape.tokens()),
        dout(dtype, shape.tokens(), shape.q_cols(), 2),
        dqkv(dtype, shape.tokens(), shape.q_cols() + 2 * shape.kv_cols(), 5) {
    qkv.fill_normal(1);
    dout.fill_normal(2);
  }

  template <typename View>
  View q_of(View view) const {
    return view.cols_from(0, shape.q_cols());
  }
  template <typename View>
  View k_of(View view) const {
    return view.cols_from(shape.q_cols(), shape.kv_cols());
  }
  template <typename View>
  View v_of(View view) const {
    return view.cols_from(shape.q_cols() + shape.kv_cols(), shape.kv_cols());
  }
  ConstTensorView bounds_view() const {
    return vector_view(bounds.data(), static_cast<std::int64_t>(bounds.size()));
  }

  void forward(kernels::Device& device) {
    kernels::attention(device, {.out = out.view(),
                                .lse = lse.view(),
                                .q = q_of(qkv.view()),
                                .k = k_of(qkv.view()),
                                .v = v_of(qkv.view()),
                                .bounds = bounds_view(),
                                .heads = shape.heads,
                                .kv_heads = shape.kv_heads,
                                .scale = shape.scale()});
  }
  void backward(kernels::Device& device) {
    kernels::attention_backward(device, {.dq = q_of(dqkv.view()),
                                         .dk = k_of(dqkv.view()),
                                         .dv = v_of(dqkv.view()),
                                         .dout = dout.view(),
                                         .out = out.view(),
                                         .q = q_of(qkv.view()),
                                         .k = k_of(qkv.view()),
                                         .v = v_of(qkv.view()),
                                         .lse = lse.view(),
                                         .bounds = bounds_view(),
                                         .heads = shape.heads,
                                         .kv_heads = shape.kv_heads,
                                         .scale = shape.scale()});
  }

  reference::Attention reference_inputs() const {
    const reference::Expected all = values_of(qkv);
    return {columns_of(all, 0, shape.q_cols()),
            columns_of(all, shape.q_cols(), shape.kv_cols()),
            columns_of(all, shape.q_cols() + shape.kv_cols(), shape.kv_cols()),
            bounds,
            shape.heads,
            shape.kv_heads,
            static_cast<double>(shape.scale())};
  }

  void expect_gradients_close(const reference::AttentionGradients& expected, double computing) {
    const reference::Expected all = values_of(dqkv);
    const Tolerance tolerance{dqkv.dtype(), computing};
    expect_close(columns_of(all, 0, shape.q_cols()), expected.dq, tolerance);
    expect_close(columns_of(all, shape.q_cols(), shape.kv_cols()), expected.dk, tolerance);
    expect_close(columns_of(all, shape.q_cols() + shape.kv_cols(), shape.kv_cols()), expected.dv,
                 tolerance);
  }

  AttentionShape shape;
  std::vector<std::int32_t> bounds;
  Tensor qkv;
  Tensor out;
  Tensor lse;
  Tensor dout;
  Tensor dqkv;
};

}  // namespace muster::test
