#include "kernels/ops/attention.hpp"

#include <memory>
#include <string>
#include <tuple>

#include <gtest/gtest.h>

#include "tests/kernels/ops/attention_problem.hpp"

namespace muster::test {
namespace {

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
  AttentionProblem make_problem() const { return {shape(), std::get<1>(GetParam())}; }
  std::unique_ptr<kernels::Device> device_ = open_cpu(std::get<0>(GetParam()), 2);
};

TEST_P(Attention, MatchesTheReference) {
  AttentionProblem problem = make_problem();
  const reference::AttentionResult expected = reference::attention(problem.reference_inputs());

  problem.forward(*device_);

  expect_close(problem.out, expected.out, kAttentionF32Error);
  expect_close(problem.lse, expected.lse, kAttentionF32Error);
  EXPECT_TRUE(problem.out.margins_are_untouched());
  EXPECT_TRUE(problem.lse.margins_are_untouched());
}

/// Gradients of keys add up over all queries and heads that see them: to sums of some tens.
TEST_P(Attention, BackwardMatchesTheReference) {
  AttentionProblem problem = make_problem();
  problem.forward(*device_);
  const reference::AttentionGradients expected = reference::attention_backward(
      problem.reference_inputs(), {values_of(problem.out), values_of(problem.lse)},
      values_of(problem.dout));

  problem.backward(*device_);

  problem.expect_gradients_close(expected, 5.0 * kAttentionF32Error);
  EXPECT_TRUE(problem.dqkv.margins_are_untouched());
}

TEST_P(Attention, DoesNotDependOnTheNumberOfThreads) {
  AttentionProblem one = make_problem();
  AttentionProblem three = make_problem();
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

}  // namespace
}  // namespace muster::test
