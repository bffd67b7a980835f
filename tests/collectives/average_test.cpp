#include "collectives/average.hpp"

#include <array>
#include <cstdint>

#include <gtest/gtest.h>

#include "kernels/base/half.hpp"

namespace muster::collectives {
namespace {

template <typename T>
class Average : public testing::Test {};
using Elements = testing::Types<double, float, Half, Bfloat16>;
TYPED_TEST_SUITE(Average, Elements);

TYPED_TEST(Average, DividesFloats) {
  std::array<TypeParam, 3> sums = {TypeParam(9.0F), TypeParam(-3.0F), TypeParam(1.5F)};

  divide(vector_view(sums.data(), 3), 3);

  EXPECT_EQ(static_cast<float>(sums[0]), 3.0F);
  EXPECT_EQ(static_cast<float>(sums[1]), -1.0F);
  EXPECT_EQ(static_cast<float>(sums[2]), 0.5F);
}

TEST(AverageOfWholeNumbers, IsRoundedTowardsZero) {
  std::array<std::int8_t, 2> bytes = {7, -7};
  std::array<std::int64_t, 2> longs = {(std::int64_t{1} << 60) + 1, -5};

  divide(vector_view(bytes.data(), 2), 2);
  divide(vector_view(longs.data(), 2), 2);

  EXPECT_EQ(bytes, (std::array<std::int8_t, 2>{3, -3}));
  EXPECT_EQ(longs, (std::array<std::int64_t, 2>{std::int64_t{1} << 59, -2}));
}

TEST(AverageOfWholeNumbers, OfBytesMayBeLarge) {
  std::array<std::uint8_t, 2> bytes = {255, 4};

  divide(TensorView(reinterpret_cast<std::byte*>(bytes.data()), Dtype::u8, 1, 2), 4);

  EXPECT_EQ(bytes, (std::array<std::uint8_t, 2>{63, 1}));
}

}  // namespace
}  // namespace muster::collectives
