#include "kernels/ops/embedding.hpp"

#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "kernels/base/random.hpp"
#include "tests/support/close.hpp"
#include "tests/support/reference_layers.hpp"
#include "tests/support/tensor.hpp"

namespace muster::test {
namespace {

struct EmbeddingShape {
  std::int64_t tokens;
  std::int64_t vocab;
  std::int64_t hidden;
  std::int64_t gap;
};

const EmbeddingShape kEmbeddingShapes[] = {{1, 1, 1, 0},     {5, 3, 7, 1},     {40, 10, 16, 0},
                                           {17, 100, 63, 2}, {70, 20, 300, 0}, {3, 5, 1000, 3}};
using EmbeddingParam = std::tuple<std::string, Dtype, EmbeddingShape>;

class Embedding : public testing::TestWithParam<EmbeddingParam> {
 protected:
  Embedding() {
    for (std::int64_t t = 0; t < shape().tokens; ++t) {
      const std::uint64_t word = mix(5, static_cast<std::uint64_t>(t));
      tokens_.push_back(
          static_cast<std::int32_t>(word % static_cast<std::uint64_t>(shape().vocab)));
    }
  }

  const EmbeddingShape& shape() const { return std::get<2>(GetParam()); }
  Tensor matrix(Dtype dtype, std::int64_t rows) const {
    return {dtype, rows, shape().hidden, shape().gap};
  }
  Tensor floats(std::int64_t rows) const { return matrix(std::get<1>(GetParam()), rows); }
  ConstTensorView tokens_view() const { return vector_view(tokens_.data(), shape().tokens); }

  std::unique_ptr<kernels::Device> device_ = open_cpu(std::get<0>(GetParam()), 2);
  std::vector<std::int32_t> tokens_;
};

TEST_P(Embedding, CopiesTheRowOfEveryToken) {
  const Tensor table = std::move(floats(shape().vocab).fill_normal(1));
  Tensor y = floats(shape().tokens);

  kernels::embedding(*device_, {y.view(), table.view(), tokens_view()});

  for (std::int64_t t = 0; t < shape().tokens; ++t) {
    for (std::int64_t c = 0; c < shape().hidden; ++c) {
      ASSERT_EQ(y.at(t, c), table.at(tokens_[static_cast<std::size_t>(t)], c)) << t << ' ' << c;
    }
  }
  EXPECT_TRUE(y.margins_are_untouched());
}

TEST_P(Embedding, BackwardOfWholeNumbersIsExact) {
  for (const bool accumulate : {false, true}) {
    const Tensor dy = std::move(floats(shape().tokens).fill_integers(1, 100));
    Tensor dtable = std::move(matrix(Dtype::f32, shape().vocab).fill_integers(2, 100));
    const Tensor start = accumulate ? dtable : matrix(Dtype::f32, shape().vocab);
    const reference::Expected expected =
        reference::embedding_backward(values_of(start), values_of(dy), tokens_);

    kernels::embedding_backward(*device_, {dtable.view(), dy.view(), tokens_view(), accumulate});

    for (std::int64_t r = 0; r < shape().vocab; ++r) {
      for (std::int64_t c = 0; c < shape().hidden; ++c) {
        ASSERT_EQ(dtable.at(r, c), expected.at(r, c)) << r << ' ' << c;
      }
    }
    EXPECT_TRUE(dtable.margins_are_untouched());
  }
}

/// The order of the tokens is the order of the additions: 2^15 + 2^-10 - 2^15 is 0 in f32 when
/// added from left to right, and 2^-10 otherwise.
TEST_P(Embedding, BackwardAddsInTheOrderOfTheTokens) {
  const std::int32_t same[] = {0, 0, 0};
  Tensor dy = floats(3);
  for (std::int64_t c = 0; c < shape().hidden; ++c) {
    dy.set(0, c, 0x1p15);
    dy.set(1, c, 0x1p-10);
    dy.set(2, c, -0x1p15);
  }
  Tensor dtable = matrix(Dtype::f32, 1);

  kernels::embedding_backward(*device_, {dtable.view(), dy.view(), vector_view(same, 3)});

  for (std::int64_t c = 0; c < shape().hidden; ++c) ASSERT_EQ(dtable.at(0, c), 0.0) << c;
}

INSTANTIATE_TEST_SUITE_P(All, Embedding,
                         testing::Combine(testing::ValuesIn(supported_isas()),
                                          testing::Values(Dtype::f32, Dtype::bf16, Dtype::f16),
                                          testing::ValuesIn(kEmbeddingShapes)));

}  // namespace
}  // namespace muster::test
