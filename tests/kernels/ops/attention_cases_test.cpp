// What attention does that does not need every shape.

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "kernels/ops/attention.hpp"
#include "tests/kernels/ops/attention_problem.hpp"
#include "tests/support/finite_difference.hpp"

namespace muster::test {
namespace {

using reference::Expected;

/// Once per instruction set.
class AttentionCase : public testing::TestWithParam<std::string> {
 protected:
  std::unique_ptr<kernels::Device> device_ = open_cpu(GetParam(), 2);
};
INSTANTIATE_TEST_SUITE_P(All, AttentionCase, testing::ValuesIn(supported_isas()));

TEST_P(AttentionCase, OfEqualScoresIsTheMeanOfTheValuesExactly) {
  AttentionProblem problem({{4}, 1, 1, 8}, Dtype::f32);
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
  AttentionProblem problem({{3}, 1, 1, 8}, Dtype::f32);
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
  AttentionProblem problem({{1, 5, 14}, 4, 2, 8}, Dtype::f32);
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
  AttentionProblem problem({{70, 65, 3}, 4, 2, 64}, Dtype::f32);
  AttentionProblem other({{70, 65, 3}, 4, 2, 64}, Dtype::f32);
  for (std::int64_t t = 0; t < 70; ++t) {
    for (std::int64_t c = 0; c < other.qkv.cols(); ++c) other.qkv.set(t, c, 1e4);
  }

  for (AttentionProblem* p : {&problem, &other}) {
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
  AttentionProblem alone({{200}, 4, 2, 64}, Dtype::bf16);
  AttentionProblem packed({{5, 200, 31}, 4, 2, 64}, Dtype::bf16);
  for (std::int64_t t = 0; t < 200; ++t) {
    for (std::int64_t c = 0; c < alone.qkv.cols(); ++c) {
      packed.qkv.set(t + 5, c, alone.qkv.at(t, c));
    }
    for (std::int64_t c = 0; c < alone.dout.cols(); ++c) {
      packed.dout.set(t + 5, c, alone.dout.at(t, c));
    }
  }

  for (AttentionProblem* p : {&alone, &packed}) {
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
  AttentionProblem problem({{150}, 2, 1, 64}, Dtype::f32);
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
  AttentionProblem problem({{150}, 1, 1, 64}, Dtype::f32);
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
  AttentionProblem problem({{230}, 4, 2, 24}, Dtype::f32);
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
  AttentionProblem problem({{10, 70}, 1, 1, 64}, Dtype::f32);
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
    AttentionProblem problem({{tokens}, 2, 1, 64}, Dtype::f32);
    problem.forward(*device);
    problem.backward(*device);
    return device->scratch_bytes();
  };

  EXPECT_LE(scratch_for(1024), 2 * scratch_for(512));
}

}  // namespace
}  // namespace muster::test
