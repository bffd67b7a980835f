#include "kernels/ops/attention.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <ostream>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/close.hpp"
#include "tests/support/finite_difference.hpp"
#include "tests/support/reference_attention.hpp"
#include "tests/support/tensor.hpp"

namespace muster::test {
namespace {

using reference::Expected;

/// Queries and keys are standard normal and scores are divided by sqrt(head_dim), so results are
/// near 1 and the error of f32 sums over some hundred products stays below this.
constexpr double kAttentionF32Error = 1e-5;

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
void PrintTo(const AttentionShape& shape, std::ostream* out) {
  for (const std::int64_t length : shape.documents) *out << length << '+';
  *out << " heads " << shape.heads << '/' << shape.kv_heads << " of " << shape.head_dim;
}

/// Everything attention reads and writes. Queries, keys and values are column blocks of one matrix,
/// as a fused projection leaves them, and so are their gradients.
struct Problem {
  Problem(const AttentionShape& shape_in, Dtype dtype)
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
    const Expected all = values_of(qkv);
    return {columns_of(all, 0, shape.q_cols()),
            columns_of(all, shape.q_cols(), shape.kv_cols()),
            columns_of(all, shape.q_cols() + shape.kv_cols(), shape.kv_cols()),
            bounds,
            shape.heads,
            shape.kv_heads,
            static_cast<double>(shape.scale())};
  }

  void expect_gradients_close(const reference::AttentionGradients& expected, double computing) {
    const Expected all = values_of(dqkv);
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

const AttentionShape kAttentionShapes[] = {{{1}, 1, 1, 8},
                                           {{2}, 2, 2, 64},
                                           {{63}, 4, 1, 24},
                                           {{64}, 4, 2, 64},
                                           {{65}, 6, 6, 80},
                                           {{1, 2, 63, 64, 65, 1}, 4, 2, 64},
                                           {{3, 200, 5}, 2, 1, 128},
                                           {{100, 97}, 5, 1, 8},
                                           {{7, 7, 7, 130}, 6, 6, 24},
                                           {{260}, 1, 1, 80},
                                           {{1, 1, 1, 1, 1}, 2, 2, 64}};

using AttentionParam = std::tuple<std::string, Dtype, AttentionShape>;

class Attention : public testing::TestWithParam<AttentionParam> {
 protected:
  const AttentionShape& shape() const { return std::get<2>(GetParam()); }
  Problem make_problem() const { return {shape(), std::get<1>(GetParam())}; }
  std::unique_ptr<kernels::Device> device_ = open_cpu(std::get<0>(GetParam()), 2);
};

TEST_P(Attention, MatchesTheReference) {
  Problem problem = make_problem();
  const reference::AttentionResult expected = reference::attention(problem.reference_inputs());

  problem.forward(*device_);

  expect_close(problem.out, expected.out, kAttentionF32Error);
  expect_close(problem.lse, expected.lse, kAttentionF32Error);
  EXPECT_TRUE(problem.out.margins_are_untouched());
  EXPECT_TRUE(problem.lse.margins_are_untouched());
}

/// Gradients of keys add up over all queries and heads that see them: to sums of some tens.
TEST_P(Attention, BackwardMatchesTheReference) {
  Problem problem = make_problem();
  problem.forward(*device_);
  const reference::AttentionGradients expected = reference::attention_backward(
      problem.reference_inputs(), {values_of(problem.out), values_of(problem.lse)},
      values_of(problem.dout));

  problem.backward(*device_);

  problem.expect_gradients_close(expected, 5.0 * kAttentionF32Error);
  EXPECT_TRUE(problem.dqkv.margins_are_untouched());
}

TEST_P(Attention, DoesNotDependOnTheNumberOfThreads) {
  Problem one = make_problem();
  Problem three = make_problem();
  const auto one_thread = open_cpu(std::get<0>(GetParam()), 1);
  const auto three_threads = open_cpu(std::get<0>(GetParam()), 3);

  one.forward(*one_thread);
  one.backward(*one_thread);
  three.forward(*three_threads);
  three.backward(*three_threads);

  EXPECT_TRUE(same_bits(one.out, three.out));
  EXPECT_TRUE(same_bits(one.lse, three.lse));
  EXPECT_TRUE(same_bits(one.dqkv, three.dqkv));
}

INSTANTIATE_TEST_SUITE_P(All, Attention,
                         testing::Combine(testing::ValuesIn(supported_isas()),
                                          testing::Values(Dtype::f32, Dtype::bf16, Dtype::f16),
                                          testing::ValuesIn(kAttentionShapes)));

/// What does not need every shape: once per instruction set.
class AttentionCase : public testing::TestWithParam<std::string> {
 protected:
  std::unique_ptr<kernels::Device> device_ = open_cpu(GetParam(), 2);
};
INSTANTIATE_TEST_SUITE_P(All, AttentionCase, testing::ValuesIn(supported_isas()));

TEST_P(AttentionCase, OfEqualScoresIsTheMeanOfTheValuesExactly) {
  Problem problem({{4}, 1, 1, 8}, Dtype::f32);
  problem.qkv.fill_integers(1, 100);
  for (std::int64_t t = 0; t < 4; ++t) {
    for (std::int64_t c = 0; c < 8; ++c) problem.qkv.set(t, c, 0.0);  // queries
  }

  problem.forward(*device_);

  for (const std::int64_t t : {0, 1, 3}) {  // one, two and four keys divide exactly
    for (std::int64_t c = 0; c < 8; ++c) {
      double sum = 0.0;
      for (std::int64_t j = 0; j <= t; ++j) sum += problem.qkv.at(j, 16 + c);
      EXPECT_EQ(problem.out.at(t, c), sum / static_cast<double>(t + 1)) << t << ' ' << c;
    }
  }
}

/// Hidden probabilities are zero, not merely small: small times huge would be something.
TEST_P(AttentionCase, OfATokenIgnoresHugeValuesAfterIt) {
  Problem problem({{3}, 1, 1, 8}, Dtype::f32);
  for (std::int64_t c = 0; c < 8; ++c) {
    problem.qkv.set(0, 16 + c, 5.0);
    problem.qkv.set(1, 16 + c, 3e38);
  }

  problem.forward(*device_);

  for (std::int64_t c = 0; c < 8; ++c) EXPECT_EQ(problem.out.at(0, c), 5.0) << c;
}

/// The kernel's gradient against differences of the reference's forward: independent of any
/// formula for the backward. The tolerance is that of f32; the difference's own error is 1e-8.
TEST_P(AttentionCase, BackwardMatchesFiniteDifferences) {
  Problem problem({{1, 5, 14}, 4, 2, 8}, Dtype::f32);
  problem.forward(*device_);
  problem.backward(*device_);
  reference::Attention in = problem.reference_inputs();
  const Expected dout = values_of(problem.dout);
  const auto loss = [&] { return inner_product(dout, reference::attention(in).out); };
  const auto differences = [&](Expected& by) {
    Expected all{by.rows, by.cols, {}};
    for (std::int64_t r = 0; r < by.rows; ++r) {
      for (std::int64_t c = 0; c < by.cols; ++c) {
        all.values.push_back(reference::central_difference(by, r, c, loss));
      }
    }
    return all;
  };

  problem.expect_gradients_close({differences(in.q), differences(in.k), differences(in.v)},
                                 kAttentionF32Error);
}

TEST_P(AttentionCase, OfADocumentDoesNotSeeTheDocumentsBeforeIt) {
  Problem problem({{70, 65, 3}, 4, 2, 64}, Dtype::f32);
  Problem other({{70, 65, 3}, 4, 2, 64}, Dtype::f32);
  for (std::int64_t t = 0; t < 70; ++t) {
    for (std::int64_t c = 0; c < other.qkv.cols(); ++c) other.qkv.set(t, c, 1e4);
  }

  for (Problem* p : {&problem, &other}) {
    p->forward(*device_);
    p->backward(*device_);
  }

  for (std::int64_t t = 70; t < 138; ++t) {
    for (std::int64_t c = 0; c < problem.out.cols(); ++c) {
      ASSERT_EQ(problem.out.at(t, c), other.out.at(t, c)) << t << ' ' << c;
    }
    for (std::int64_t c = 0; c < problem.dqkv.cols(); ++c) {
      ASSERT_EQ(problem.dqkv.at(t, c), other.dqkv.at(t, c)) << t << ' ' << c;
    }
  }
}

TEST_P(AttentionCase, OfADocumentIsTheSameBitsWhereverItIsPacked) {
  Problem alone({{200}, 4, 2, 64}, Dtype::bf16);
  Problem packed({{5, 200, 31}, 4, 2, 64}, Dtype::bf16);
  for (std::int64_t t = 0; t < 200; ++t) {
    for (std::int64_t c = 0; c < alone.qkv.cols(); ++c) {
      packed.qkv.set(t + 5, c, alone.qkv.at(t, c));
    }
    for (std::int64_t c = 0; c < alone.dout.cols(); ++c) {
      packed.dout.set(t + 5, c, alone.dout.at(t, c));
    }
  }

  for (Problem* p : {&alone, &packed}) {
    p->forward(*device_);
    p->backward(*device_);
  }

  for (std::int64_t t = 0; t < 200; ++t) {
    for (std::int64_t c = 0; c < alone.out.cols(); ++c) {
      ASSERT_EQ(alone.out.at(t, c), packed.out.at(t + 5, c)) << t << ' ' << c;
    }
    for (std::int64_t c = 0; c < alone.dqkv.cols(); ++c) {
      ASSERT_EQ(alone.dqkv.at(t, c), packed.dqkv.at(t + 5, c)) << t << ' ' << c;
    }
  }
}

/// Later keys with scores in the thousands must not reach the exponentials of earlier queries, and
/// sums must survive a maximum that keeps rising.
TEST_P(AttentionCase, KeepsItsAccuracyWhenScoresRiseByThousands) {
  Problem problem({{150}, 2, 1, 64}, Dtype::f32);
  for (std::int64_t t = 0; t < 150; ++t) {
    for (std::int64_t c = 0; c < 64; ++c) {  // scores of key t are 32 t for all queries
      problem.qkv.set(t, c, 1.0);
      problem.qkv.set(t, 64 + c, 1.0);
      problem.qkv.set(t, 128 + c, static_cast<double>(t) * 4.0);
    }
  }

  const reference::Attention in = problem.reference_inputs();
  const reference::AttentionResult expected = reference::attention(in);

  problem.forward(*device_);
  problem.backward(*device_);

  expect_close(problem.out, expected.out, kAttentionF32Error);
  // Scores reach 4768 / ln 2, where half a unit in the last place is 2.4e-4; score and lse carry
  // one each, p follows their difference, and dv adds p times values of dout near 3 for two heads.
  problem.expect_gradients_close(
      reference::attention_backward(in, expected, values_of(problem.dout)), 3e-3);
}

/// By more than what the sums put up with uncorrected, by less than what makes the earlier ones
/// vanish: scores are -6 up to key 63 and 1 from there on.
TEST_P(AttentionCase, CorrectsItsSumsWhenTheLargestScoreRises) {
  Problem problem({{150}, 1, 1, 64}, Dtype::f32);
  for (std::int64_t t = 0; t < 150; ++t) {
    for (std::int64_t c = 0; c < 64; ++c) {
      problem.qkv.set(t, c, 1.0);
      problem.qkv.set(t, 64 + c, t < 64 ? -0.75 : 0.125);
    }
  }
  const reference::AttentionResult expected = reference::attention(problem.reference_inputs());

  problem.forward(*device_);

  expect_close(problem.out, expected.out, kAttentionF32Error);
  expect_close(problem.lse, expected.lse, kAttentionF32Error);
}

TEST_P(AttentionCase, SeesAWindowWhenBoundsMoveWithTheTokens) {
  Problem problem({{230}, 4, 2, 24}, Dtype::f32);
  for (std::int32_t t = 0; t < 230; ++t) {
    problem.bounds[static_cast<std::size_t>(t)] = std::max(0, t - 70);
  }
  const reference::Attention in = problem.reference_inputs();
  const reference::AttentionResult expected = reference::attention(in);

  problem.forward(*device_);
  problem.backward(*device_);

  expect_close(problem.out, expected.out, kAttentionF32Error);
  expect_close(problem.lse, expected.lse, kAttentionF32Error);
  problem.expect_gradients_close(
      reference::attention_backward(in, {values_of(problem.out), values_of(problem.lse)},
                                    values_of(problem.dout)),
      5.0 * kAttentionF32Error);
}

TEST_P(AttentionCase, ShowsANaNInAllThatSeeIt) {
  Problem problem({{10, 70}, 1, 1, 64}, Dtype::f32);
  problem.qkv.set(30, 64,
                  std::numeric_limits<double>::quiet_NaN());  // a key of the second document

  problem.forward(*device_);

  for (std::int64_t t = 0; t < 10; ++t) EXPECT_TRUE(std::isfinite(problem.out.at(t, 0))) << t;
  for (std::int64_t t = 30; t < 80; ++t) {
    EXPECT_TRUE(std::isnan(problem.out.at(t, 0))) << t;
    EXPECT_TRUE(std::isnan(problem.lse.at(0, t))) << t;
  }
}

TEST_P(AttentionCase, NeedsScratchMemoryLinearInTheTokens) {
  const auto scratch_for = [&](std::int64_t tokens) {
    const auto device = open_cpu(GetParam(), 1);
    Problem problem({{tokens}, 2, 1, 64}, Dtype::f32);
    problem.forward(*device);
    problem.backward(*device);
    return device->scratch_bytes();
  };

  EXPECT_LE(scratch_for(1024), 2 * scratch_for(512));
}

}  // namespace
}  // namespace muster::test
