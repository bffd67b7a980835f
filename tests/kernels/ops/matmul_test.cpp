#include "kernels/ops/matmul.hpp"

#include <cmath>
#include <tuple>

#include <gtest/gtest.h>

#include "tests/support/reference_numbers.hpp"
#include "tests/support/tensor.hpp"

namespace muster::test {
namespace {

struct MatmulShape {
  std::int64_t m;
  std::int64_t n;
  std::int64_t k;
  unsigned turn;  // which quarter of the variants it meets
};

struct Kind {
  Dtype input;
  Dtype output;
};

const MatmulShape kMatmulShapes[] = {
    {1, 1, 1, 0},     {1, 33, 7, 1},   {33, 1, 7, 2},   {5, 3, 1, 3},    {16, 16, 16, 0},
    {15, 17, 31, 1},  {64, 48, 32, 2}, {65, 47, 33, 3}, {31, 33, 64, 0}, {2, 200, 128, 1},
    {200, 2, 128, 2}, {0, 4, 4, 3},    {4, 0, 4, 0},    {3, 5, 0, 1}};
const Kind kKinds[] = {{Dtype::f32, Dtype::f32},
                       {Dtype::bf16, Dtype::f32},
                       {Dtype::bf16, Dtype::bf16},
                       {Dtype::f16, Dtype::f32},
                       {Dtype::f16, Dtype::f16}};

using MatmulParam = std::tuple<std::string, Kind, MatmulShape>;

std::string matmul_case_name(const testing::TestParamInfo<MatmulParam>& test) {
  const auto& [isa, kind, shape] = test.param;
  return isa + "_" + std::string(to_string(kind.input)) + "_to_" +
         std::string(to_string(kind.output)) + "_" + std::to_string(shape.m) + "x" +
         std::to_string(shape.n) + "x" + std::to_string(shape.k);
}

/// What one call of matmul can vary in besides shape and dtype.
struct Variant {
  bool transpose_a;
  bool transpose_b;
  bool accumulate;
  bool has_bias;
  std::int64_t gap;
};

/// A quarter of the 32 variants, another one for each turn from 0 to 3: making a product takes
/// milliseconds, and four shapes together meet every variant.
std::vector<Variant> some_variants(unsigned turn) {
  std::vector<Variant> variants;
  for (unsigned bits = turn; bits < 32; bits += 4) {
    variants.push_back({.transpose_a = (bits & 4U) != 0,
                        .transpose_b = (bits & 8U) != 0,
                        .accumulate = (bits & 1U) != 0,
                        .has_bias = (bits & 2U) != 0,
                        .gap = (bits & 16U) != 0 ? 13 : 0});
  }
  return variants;
}

class Matmul : public testing::TestWithParam<MatmulParam> {
 protected:
  Kind kind() const { return std::get<1>(GetParam()); }
  MatmulShape shape() const { return std::get<2>(GetParam()); }

  Tensor make_a(const Variant& v) const {
    return v.transpose_a ? Tensor(kind().input, shape().k, shape().m, v.gap)
                         : Tensor(kind().input, shape().m, shape().k, v.gap);
  }
  Tensor make_b(const Variant& v) const {
    return v.transpose_b ? Tensor(kind().input, shape().n, shape().k, v.gap)
                         : Tensor(kind().input, shape().k, shape().n, v.gap);
  }

  std::unique_ptr<kernels::Device> device_ = open_cpu(std::get<0>(GetParam()), 2);
};

/// Products of whole numbers up to 9, and sums of up to 128 of them, are exact in f32, so there is
/// one right answer: the sum rounded once to the dtype of c.
TEST_P(Matmul, OfWholeNumbersIsExact) {
  for (const Variant& v : some_variants(shape().turn)) {
    SCOPED_TRACE(testing::Message() << "transpose " << v.transpose_a << v.transpose_b << " acc "
                                    << v.accumulate << " bias " << v.has_bias << " gap " << v.gap);
    Tensor a = make_a(v);
    Tensor b = make_b(v);
    Tensor c(kind().output, shape().m, shape().n, v.gap);
    Tensor bias(kind().input, 1, shape().n);
    a.fill_integers(1, 9);
    b.fill_integers(2, 9);
    c.fill_integers(3, 100);
    bias.fill_integers(4, 100);
    const Tensor before = c;
    const reference::Expected product = reference::matmul({a, b, v.transpose_a, v.transpose_b});

    kernels::matmul(*device_, {.c = c.view(),
                               .a = a.view(),
                               .b = b.view(),
                               .transpose_a = v.transpose_a,
                               .transpose_b = v.transpose_b,
                               .accumulate = v.accumulate,
                               .bias = v.has_bias ? bias.view() : TensorView()});

    EXPECT_TRUE(c.margins_are_untouched());
    for (std::int64_t i = 0; i < c.rows(); ++i) {
      for (std::int64_t j = 0; j < c.cols(); ++j) {
        const double expected = product.at(i, j) + (v.accumulate ? before.at(i, j) : 0.0) +
                                (v.has_bias ? bias.at(0, j) : 0.0);
        ASSERT_EQ(c.at(i, j), rounded(expected, kind().output)) << i << ", " << j;
      }
    }
  }
}

/// Every product and sum in f32 errs by at most one unit in the last place: k of them per element,
/// relative to the sum of magnitudes, and the rounding of the result.
TEST_P(Matmul, OfNormalNumbersErrsByRoundingOnly) {
  for (const Variant& v : some_variants(0)) {
    Tensor a = make_a(v);
    Tensor b = make_b(v);
    Tensor c(kind().output, shape().m, shape().n, v.gap);
    a.fill_normal(1);
    b.fill_normal(2);
    const reference::MatmulCase same{a, b, v.transpose_a, v.transpose_b};
    const reference::Expected expected = reference::matmul(same);
    const reference::Expected magnitude = reference::matmul_magnitudes(same);

    kernels::matmul(*device_, {.c = c.view(),
                               .a = a.view(),
                               .b = b.view(),
                               .transpose_a = v.transpose_a,
                               .transpose_b = v.transpose_b});

    const double f32_error = static_cast<double>(shape().k) * epsilon(Dtype::f32);
    for (std::int64_t i = 0; i < c.rows(); ++i) {
      for (std::int64_t j = 0; j < c.cols(); ++j) {
        const double bound =
            f32_error * magnitude.at(i, j) + epsilon(kind().output) * std::abs(expected.at(i, j));
        ASSERT_NEAR(c.at(i, j), expected.at(i, j), bound) << i << ", " << j;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Matmul,
                         testing::Combine(testing::ValuesIn(supported_isas()),
                                          testing::ValuesIn(kKinds),
                                          testing::ValuesIn(kMatmulShapes)),
                         matmul_case_name);

class MatmulOnEveryIsa : public testing::TestWithParam<std::string> {};

TEST_P(MatmulOnEveryIsa, GivesTheSameBitsTwice) {
  for (const Dtype dtype : {Dtype::f32, Dtype::bf16, Dtype::f16}) {
    const auto device = open_cpu(GetParam(), 2);
    Tensor a(dtype, 96, 300);
    Tensor b(dtype, 130, 300);
    a.fill_normal(1);
    b.fill_normal(2);
    Tensor first(Dtype::f32, 96, 130);
    Tensor second(Dtype::f32, 96, 130);

    kernels::matmul(*device,
                    {.c = first.view(), .a = a.view(), .b = b.view(), .transpose_b = true});
    kernels::matmul(*device,
                    {.c = second.view(), .a = a.view(), .b = b.view(), .transpose_b = true});

    EXPECT_TRUE(same_bits(first, second));
  }
}

TEST_P(MatmulOnEveryIsa, ServesOneDeviceWithManyProblems) {
  const auto device = open_cpu(GetParam());
  for (std::int64_t m = 1; m <= 40; ++m) {
    Tensor a(Dtype::f32, m, 3);
    Tensor b(Dtype::f32, 3, 2);
    Tensor c(Dtype::f32, m, 2);
    a.fill_integers(static_cast<std::uint64_t>(m), 9);
    b.fill_integers(2, 9);

    kernels::matmul(*device, {.c = c.view(), .a = a.view(), .b = b.view()});

    const reference::Expected expected = reference::matmul({a, b});
    for (std::int64_t i = 0; i < m; ++i) ASSERT_EQ(c.at(i, 1), expected.at(i, 1));
  }
}

INSTANTIATE_TEST_SUITE_P(All, MatmulOnEveryIsa, testing::ValuesIn(supported_isas()));

}  // namespace
}  // namespace muster::test
