#include "kernels/ops/elementwise.hpp"

#include <cmath>
#include <limits>
#include <tuple>

#include <gtest/gtest.h>

#include "kernels/base/error.hpp"
#include "tests/support/tensor.hpp"

namespace muster::test {
namespace {

struct ElementwiseShape {
  std::int64_t rows;
  std::int64_t cols;
  std::int64_t gap;  // elements between the rows
};

const ElementwiseShape kElementwiseShapes[] = {{0, 5, 0},    {5, 0, 0},    {1, 1, 0},   {1, 7, 0},
                                               {1, 16, 0},   {3, 15, 1},   {4, 17, 47}, {33, 31, 0},
                                               {2, 8191, 1}, {300, 129, 0}};
const Dtype kFloats[] = {Dtype::f32, Dtype::bf16, Dtype::f16};

using ElementwiseParam = std::tuple<std::string, Dtype, ElementwiseShape>;

std::string elementwise_case_name(const testing::TestParamInfo<ElementwiseParam>& test) {
  const auto& [isa, dtype, shape] = test.param;
  return isa + "_" + std::string(to_string(dtype)) + "_" + std::to_string(shape.rows) + "x" +
         std::to_string(shape.cols) + "_gap" + std::to_string(shape.gap);
}

class Elementwise : public testing::TestWithParam<ElementwiseParam> {
 protected:
  Dtype dtype() const { return std::get<1>(GetParam()); }
  Tensor tensor(Dtype dtype, std::uint64_t key) const {
    const ElementwiseShape& shape = std::get<2>(GetParam());
    Tensor made(dtype, shape.rows, shape.cols, shape.gap);
    made.fill_normal(key);
    return made;
  }

  std::unique_ptr<kernels::Device> device_ = open_cpu(std::get<0>(GetParam()), 2);
};

template <typename Function>
void expect_elements(const Tensor& actual, const Function& expected) {
  EXPECT_TRUE(actual.margins_are_untouched());
  for (std::int64_t r = 0; r < actual.rows(); ++r) {
    for (std::int64_t c = 0; c < actual.cols(); ++c) {
      ASSERT_EQ(actual.at(r, c), expected(r, c)) << "at " << r << ", " << c;
    }
  }
}

/// The one right result: an f32 sum of exact operands, rounded to the dtype.
double f32_sum(double a, double b, Dtype dtype) {
  return rounded(rounded(a + b, Dtype::f32), dtype);
}

TEST_P(Elementwise, AddRoundsOnce) {
  const Tensor a = tensor(dtype(), 1);
  const Tensor b = tensor(dtype(), 2);
  Tensor c = tensor(dtype(), 3);

  kernels::add(*device_, {c.view(), a.view(), b.view()});

  expect_elements(c, [&](auto r, auto i) { return f32_sum(a.at(r, i), b.at(r, i), dtype()); });
}

TEST_P(Elementwise, AddMayWriteOverItsOperand) {
  const Tensor a = tensor(dtype(), 1);
  const Tensor b = tensor(dtype(), 2);
  Tensor c = tensor(dtype(), 2);

  kernels::add(*device_, {c.view(), a.view(), c.view()});

  expect_elements(c, [&](auto r, auto i) { return f32_sum(a.at(r, i), b.at(r, i), dtype()); });
}

TEST_P(Elementwise, CastRoundsToNearest) {
  for (const Dtype to : kFloats) {
    const Tensor x = tensor(dtype(), 1);
    Tensor y = tensor(to, 2);

    kernels::cast(*device_, {y.view(), x.view()});

    expect_elements(y, [&](auto r, auto i) { return rounded(x.at(r, i), to); });
  }
}

TEST_P(Elementwise, FillReachesEveryElement) {
  Tensor x = tensor(dtype(), 1);

  kernels::fill(*device_, {x.view(), 1.0 / 3.0});

  expect_elements(x, [&](auto, auto) { return rounded(1.0 / 3.0, dtype()); });
}

TEST_P(Elementwise, AccumulateAddsInF32) {
  const Tensor addend = tensor(dtype(), 1);
  const Tensor before = tensor(Dtype::f32, 2);
  Tensor sum = tensor(Dtype::f32, 2);

  kernels::accumulate(*device_, {sum.view(), addend.view()});

  expect_elements(
      sum, [&](auto r, auto i) { return f32_sum(before.at(r, i), addend.at(r, i), Dtype::f32); });
}

INSTANTIATE_TEST_SUITE_P(All, Elementwise,
                         testing::Combine(testing::ValuesIn(supported_isas()),
                                          testing::ValuesIn(kFloats),
                                          testing::ValuesIn(kElementwiseShapes)),
                         elementwise_case_name);

class EveryIsa : public testing::TestWithParam<std::string> {};

TEST_P(EveryIsa, CastAgreesWithTheScalarConversionOnEverySixteenBitPattern) {
  const auto device = open_cpu(GetParam());
  for (const Dtype dtype : {Dtype::bf16, Dtype::f16}) {
    Tensor narrow(dtype, 1, 65536);
    for (std::int64_t i = 0; i < 65536; ++i)
      narrow.view().row<std::uint16_t>(0)[i] = static_cast<std::uint16_t>(i);
    Tensor wide(Dtype::f32, 1, 65536);
    Tensor back(dtype, 1, 65536);

    kernels::cast(*device, {wide.view(), narrow.view()});
    kernels::cast(*device, {back.view(), wide.view()});

    for (std::int64_t i = 0; i < 65536; ++i) {
      if (std::isnan(narrow.at(0, i))) {
        ASSERT_TRUE(std::isnan(wide.at(0, i)) && std::isnan(back.at(0, i))) << i;
      } else {
        ASSERT_EQ(wide.at(0, i), narrow.at(0, i)) << i;
        ASSERT_EQ(back.view().row<std::uint16_t>(0)[i], i);
      }
    }
  }
}

TEST_P(EveryIsa, CastAgreesWithTheScalarConversionNextToEveryTie) {
  const auto device = open_cpu(GetParam());
  for (const Dtype dtype : {Dtype::bf16, Dtype::f16}) {
    // Every exponent and sign, with fractions on, just below and just above the tie of two
    // neighbours; the pattern of the kept bits ends even and odd.
    Tensor x(Dtype::f32, 512, 12);
    const std::uint32_t tie = dtype == Dtype::bf16 ? 0x8000U : 0x1000U;
    for (std::uint32_t high = 0; high < 512; ++high) {
      for (std::uint32_t i = 0; i < 12; ++i) {
        const std::uint32_t kept = i / 3 * 2 * tie;
        const std::uint32_t rest = tie + i % 3 - 1;
        x.view().row<std::uint32_t>(high)[i] = (high << 23) | kept | rest;
      }
    }
    Tensor y(dtype, 512, 12);

    kernels::cast(*device, {y.view(), x.view()});

    for (std::int64_t r = 0; r < 512; ++r) {
      for (std::int64_t c = 0; c < 12; ++c) {
        const double expected = rounded(x.at(r, c), dtype);
        if (std::isnan(expected)) {
          ASSERT_TRUE(std::isnan(y.at(r, c)));
        } else {
          ASSERT_EQ(y.at(r, c), expected) << x.at(r, c);
        }
      }
    }
  }
}

TEST_P(EveryIsa, FillWritesEveryDtype) {
  const auto device = open_cpu(GetParam());
  for (const Dtype dtype : {Dtype::f64, Dtype::f32, Dtype::f16, Dtype::bf16, Dtype::i64, Dtype::i32,
                            Dtype::i8, Dtype::u8}) {
    Tensor x(dtype, 3, 21, 2);

    kernels::fill(*device, {x.view(), 7.0});

    expect_elements(x, [](auto, auto) { return 7.0; });
  }
}

INSTANTIATE_TEST_SUITE_P(All, EveryIsa, testing::ValuesIn(supported_isas()));

TEST(Fill, RefusesWhatTheDtypeCannotHold) {
  const auto device = open_cpu("");
  Tensor bytes(Dtype::u8, 1, 4);
  Tensor integers(Dtype::i32, 1, 4);

  EXPECT_THROW(kernels::fill(*device, {bytes.view(), -1.0}), Error);
  EXPECT_THROW(kernels::fill(*device, {bytes.view(), 256.0}), Error);
  EXPECT_THROW(kernels::fill(*device, {integers.view(), 0.5}), Error);
  EXPECT_THROW(kernels::fill(*device, {integers.view(), std::nan("")}), Error);
  EXPECT_NO_THROW(kernels::fill(*device, {bytes.view(), 255.0}));
}

}  // namespace
}  // namespace muster::test
