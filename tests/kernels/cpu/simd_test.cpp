#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "tests/kernels/cpu/simd_probe.hpp"
#include "tests/support/tensor.hpp"

namespace muster::test {
namespace {

class Simd : public testing::TestWithParam<std::string> {
 protected:
  static SimdProbe probe() {
    return GetParam() == "avx2" ? kernels::cpu::avx2::probe() : kernels::cpu::avx512::probe();
  }
};

/// Distance in units in the last place of the exact result's binade.
double ulps(float actual, double exact) {
  const double unit = std::ldexp(1.0, std::ilogb(exact) - 23);
  return std::abs(static_cast<double>(actual) - exact) / unit;
}

/// Every 257th float of [low, high] by bit pattern; both have one sign.
std::vector<float> floats_between(float low, float high) {
  std::vector<float> values{low, high};
  const auto first =
      std::min(std::bit_cast<std::uint32_t>(low), std::bit_cast<std::uint32_t>(high));
  const auto last = std::max(std::bit_cast<std::uint32_t>(low), std::bit_cast<std::uint32_t>(high));
  for (std::uint32_t bits = first; bits < last; bits += 257) {
    values.push_back(std::bit_cast<float>(bits));
  }
  return values;
}

TEST_P(Simd, ExpErrsByTwoUnitsInTheLastPlaceAtMost) {
  for (const auto& [low, high] : {std::pair{0x1.0p-30F, 88.72F}, std::pair{-87.33F, -0x1.0p-30F}}) {
    const std::vector<float> x = floats_between(low, high);
    std::vector<float> y(x.size());

    probe().exp(x, y);

    double worst = 0.0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      worst = std::max(worst, ulps(y[i], std::exp(static_cast<double>(x[i]))));
    }
    EXPECT_LE(worst, 2.0);
  }
}

TEST_P(Simd, ExpKeepsANanAndClampsTheRest) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const std::vector<float> x{std::nanf(""), 0.0F, -0.0F, kInfinity, -kInfinity, 1000.0F, -1000.0F};
  std::vector<float> y(x.size());

  probe().exp(x, y);

  EXPECT_TRUE(std::isnan(y[0]));
  EXPECT_EQ(y[1], 1.0F);
  EXPECT_EQ(y[2], 1.0F);
  EXPECT_LE(ulps(y[3], std::exp(88.72)), 64.0);  // 88.72 is no f32, and exp magnifies the rounding
  EXPECT_EQ(y[5], y[3]);
  EXPECT_GT(y[4], std::numeric_limits<float>::min());
  EXPECT_LT(y[4], 1.3e-38F);
  EXPECT_EQ(y[6], y[4]);
}

TEST_P(Simd, MaxAndMinPassANanOnFromEitherSide) {
  const float nan = std::nanf("");
  float result = 0.0F;

  probe().max_or_nan(1.0F, 2.0F, &result);
  EXPECT_EQ(result, 2.0F);
  probe().min_or_nan(1.0F, 2.0F, &result);
  EXPECT_EQ(result, 1.0F);
  for (const auto function : {probe().max_or_nan, probe().min_or_nan}) {
    function(nan, 1.0F, &result);
    EXPECT_TRUE(std::isnan(result));
    function(1.0F, nan, &result);
    EXPECT_TRUE(std::isnan(result));
  }
}

TEST_P(Simd, SumAndMaximumReachEveryLane) {
  const auto width = static_cast<std::size_t>(probe().width);
  for (std::size_t lane = 0; lane < width; ++lane) {
    std::vector<float> x(width, 1.0F);
    x[lane] = 100.0F;

    EXPECT_EQ(probe().sum(x), 99.0F + static_cast<float>(width)) << lane;
    EXPECT_EQ(probe().maximum(x), 100.0F) << lane;
  }
}

INSTANTIATE_TEST_SUITE_P(All, Simd, testing::ValuesIn(supported_isas()));

}  // namespace
}  // namespace muster::test
