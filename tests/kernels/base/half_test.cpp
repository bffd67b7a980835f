#include "kernels/base/half.hpp"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace muster {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

template <typename T>
T from_bits(std::uint32_t bits) {
  T value;
  value.bits = static_cast<std::uint16_t>(bits);
  return value;
}

template <typename T>
class SixteenBits : public testing::Test {};
using Types = testing::Types<Bfloat16, Half>;
TYPED_TEST_SUITE(SixteenBits, Types);

TYPED_TEST(SixteenBits, ComeBackFromF32AsTheyWere) {
  for (std::uint32_t bits = 0; bits <= 0xFFFFU; ++bits) {
    const auto value = static_cast<float>(from_bits<TypeParam>(bits));
    const TypeParam back(value);

    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(static_cast<float>(back))) << bits;
      EXPECT_EQ(back.bits & 0x8000U, bits & 0x8000U) << bits;
    } else {
      EXPECT_EQ(back.bits, bits);
    }
  }
}

TYPED_TEST(SixteenBits, RoundToTheNearestAndTiesToEven) {
  for (std::uint32_t bits = 0; bits < 0x7FFFU; ++bits) {
    const auto low = static_cast<float>(from_bits<TypeParam>(bits));
    const auto high = static_cast<float>(from_bits<TypeParam>(bits + 1));
    if (!std::isfinite(low) || !std::isfinite(high)) continue;
    // Exact: the midpoint of two neighbours needs one bit more than they have.
    const float tie = low + (high - low) / 2.0F;
    const std::uint32_t even = bits % 2 == 0 ? bits : bits + 1;

    EXPECT_EQ(TypeParam(tie).bits, even) << bits;
    EXPECT_EQ(TypeParam(std::nextafter(tie, -kInfinity)).bits, bits) << bits;
    EXPECT_EQ(TypeParam(std::nextafter(tie, kInfinity)).bits, bits + 1) << bits;
    EXPECT_EQ(TypeParam(-tie).bits, even | 0x8000U) << bits;
  }
}

TYPED_TEST(SixteenBits, KeepInfinityAndSignedZero) {
  EXPECT_EQ(static_cast<float>(TypeParam(kInfinity)), kInfinity);
  EXPECT_EQ(static_cast<float>(TypeParam(-kInfinity)), -kInfinity);
  EXPECT_EQ(TypeParam(-0.0F).bits, 0x8000U);
  EXPECT_EQ(TypeParam(0.0F).bits, 0U);
}

TEST(Half, BecomesInfinityFromHalfwayAboveItsLargestValue) {
  EXPECT_EQ(static_cast<float>(Half(65519.996F)), 65504.0F);
  EXPECT_EQ(static_cast<float>(Half(65520.0F)), kInfinity);
  EXPECT_EQ(static_cast<float>(Half(-1e30F)), -kInfinity);
}

TEST(Half, KeepsSubnormals) {
  EXPECT_EQ(static_cast<float>(Half(0x1.0p-24F)), 0x1.0p-24F);
  EXPECT_EQ(Half(0x1.0p-25F).bits, 0U);
  EXPECT_EQ(Half(0x1.8p-25F).bits, 1U);
  EXPECT_EQ(static_cast<float>(Half(0x1.ff8p-15F)), 0x1.ff8p-15F);
}

TEST(Bfloat16, BecomesInfinityWhereItsLargestValueIsTooFar) {
  EXPECT_EQ(static_cast<float>(Bfloat16(std::numeric_limits<float>::max())), kInfinity);
  EXPECT_EQ(static_cast<float>(Bfloat16(0x1.fep127F)), 0x1.fep127F);
}

TEST(Bfloat16, KeepsASignallingNanANan) {
  EXPECT_TRUE(std::isnan(static_cast<float>(Bfloat16(std::bit_cast<float>(0x7F800001U)))));
}

}  // namespace
}  // namespace muster
