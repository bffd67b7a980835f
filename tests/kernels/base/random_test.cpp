#include "kernels/base/random.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

namespace muster {
namespace {

// The known answers published with Random123 (kat_vectors, philox4x32 10).
TEST(Philox, GivesTheKnownAnswers) {
  EXPECT_EQ(philox(0, 0, 0),
            (std::array<std::uint32_t, 4>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  const std::uint64_t ones = ~std::uint64_t{0};
  EXPECT_EQ(philox(ones, ones, ones),
            (std::array<std::uint32_t, 4>{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox(0x299f31d0a4093822, 0x85a308d3243f6a88, 0x0370734413198a2e),
            (std::array<std::uint32_t, 4>{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Uniform, CoversTheHalfOpenUnitInterval) {
  EXPECT_EQ(to_uniform(0), 0.0F);
  EXPECT_EQ(to_uniform(0xFFFFFFFFU), 1.0F - 0x1.0p-24F);
  EXPECT_EQ(to_uniform(0x80000000U), 0.5F);
}

TEST(Normal, HasTheMomentsOfTheStandardNormal) {
  constexpr std::uint64_t kCount = 200000;
  double sum = 0.0;
  double squares = 0.0;
  double fourths = 0.0;
  for (std::uint64_t i = 0; i < kCount; ++i) {
    const auto x = static_cast<double>(normal(7, i));
    sum += x;
    squares += x * x;
    fourths += x * x * x * x;
  }

  // Five standard errors: 5 sqrt(var / n), var = 1, 2 and 96.
  EXPECT_NEAR(sum / kCount, 0.0, 0.0112);
  EXPECT_NEAR(squares / kCount, 1.0, 0.0158);
  EXPECT_NEAR(fourths / kCount, 3.0, 0.11);
}

TEST(Normal, DependsOnKeyAndIndexAlone) {
  EXPECT_EQ(normal(1, 1000), normal(1, 1000));
  EXPECT_NE(normal(1, 1000), normal(2, 1000));
  EXPECT_NE(normal(1, 1000), normal(1, 1001));
}

class Permute : public testing::TestWithParam<std::uint64_t> {};

TEST_P(Permute, HitsEveryPlaceOnce) {
  const std::uint64_t n = GetParam();
  std::vector<int> hits(n, 0);

  for (std::uint64_t i = 0; i < n; ++i) {
    const std::uint64_t place = permute(3, i, n);
    ASSERT_LT(place, n);
    ++hits[place];
  }

  for (std::uint64_t i = 0; i < n; ++i) ASSERT_EQ(hits[i], 1) << "place " << i << " of " << n;
}

INSTANTIATE_TEST_SUITE_P(Sizes, Permute,
                         testing::Values(1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 63, 64, 65, 199, 200, 255,
                                         256, 257, 65537, 100003));

TEST(Permute, IsABijectionForEverySmallSize) {
  for (std::uint64_t n = 1; n <= 200; ++n) {
    std::vector<bool> seen(n, false);
    for (std::uint64_t i = 0; i < n; ++i) seen[permute(n, i, n)] = true;
    EXPECT_EQ(std::count(seen.begin(), seen.end(), true), static_cast<std::ptrdiff_t>(n));
  }
}

TEST(Permute, StaysBelowAHugeSize) {
  const std::uint64_t n = (std::uint64_t{1} << 40) + 12345;
  for (std::uint64_t i = 0; i < 1000; ++i) EXPECT_LT(permute(9, n - 1 - i, n), n);
}

TEST(Permute, DiffersFromKeyToKey) {
  int same = 0;
  for (std::uint64_t i = 0; i < 1000; ++i)
    same += permute(1, i, 1000) == permute(2, i, 1000) ? 1 : 0;
  EXPECT_LT(same, 20);  // one is expected
}

}  // namespace
}  // namespace muster
