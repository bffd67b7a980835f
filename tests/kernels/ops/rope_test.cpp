#include "kernels/ops/rope.hpp"

#include <cmath>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/close.hpp"
#include "tests/support/finite_difference.hpp"
#include "tests/support/reference_layers.hpp"
#include "tests/support/tensor.hpp"

namespace muster::test {
namespace {

using reference::Expected;

/// Two products and their sum, of normal values and factors up to 1, each rounded to f32, and the
/// rounding of cosine and sine themselves.
constexpr double kRopeF32Error = 2e-6;
constexpr std::int64_t kPositions = 50;

struct RopeShape {
  std::int64_t tokens;
  std::int64_t heads;
  std::int64_t head_dim;
  std::int64_t gap;
};

const RopeShape kRopeShapes[] = {{1, 1, 2, 0},   {3, 2, 8, 1},   {5, 4, 24, 0},
                                 {17, 3, 64, 7}, {40, 2, 80, 0}, {9, 1, 128, 2}};
using RopeParam = std::tuple<std::string, Dtype, RopeShape>;

class Rope : public testing::TestWithParam<RopeParam> {
 protected:
  Rope() {
    const std::int64_t half = shape().head_dim / 2;
    for (std::int64_t p = 0; p < kPositions; ++p) {
      for (std::int64_t i = 0; i < half; ++i) {
        cos_.set(p, i, std::cos(angle(p, i)));
        sin_.set(p, i, std::sin(angle(p, i)));
      }
    }
    for (std::int64_t t = 0; t < shape().tokens; ++t) {
      positions_.push_back(static_cast<std::int32_t>(t * 7 % kPositions));
    }
  }

  const RopeShape& shape() const { return std::get<2>(GetParam()); }
  Dtype dtype() const { return std::get<1>(GetParam()); }
  double angle(std::int64_t position, std::int64_t i) const {
    return static_cast<double>(position) *
           std::pow(10000.0, -2.0 * static_cast<double>(i) / static_cast<double>(shape().head_dim));
  }
  Expected angles() const {
    return reference::make_expected(shape().tokens, shape().head_dim / 2,
                                    [&](std::int64_t t, std::int64_t i) {
                                      return angle(positions_[static_cast<std::size_t>(t)], i);
                                    });
  }
  Tensor make_x(std::uint64_t key) const {
    return std::move(Tensor(dtype(), shape().tokens, shape().heads * shape().head_dim, shape().gap)
                         .fill_normal(key));
  }
  void rotate(Tensor& x, bool inverse) {
    kernels::rope(*device_, {.x = x.view(),
                             .positions = vector_view(positions_.data(), shape().tokens),
                             .cos = cos_.view(),
                             .sin = sin_.view(),
                             .head_dim = shape().head_dim,
                             .inverse = inverse});
  }

  std::unique_ptr<kernels::Device> device_ = open_cpu(std::get<0>(GetParam()), 2);
  Tensor cos_{Dtype::f32, kPositions, shape().head_dim / 2, 1};
  Tensor sin_{Dtype::f32, kPositions, shape().head_dim / 2};
  std::vector<std::int32_t> positions_;
};

TEST_P(Rope, RotatesTheHalvesOfEveryHeadByItsPosition) {
  Tensor x = make_x(1);
  const Expected expected = reference::rope(values_of(x), angles(), shape().head_dim);

  rotate(x, false);

  expect_close(x, expected, kRopeF32Error);
  EXPECT_TRUE(x.margins_are_untouched());
}

TEST_P(Rope, LeavesPositionZeroAsItIs) {
  positions_.assign(positions_.size(), 0);
  Tensor x = make_x(1);
  const Tensor before = x;

  rotate(x, false);

  EXPECT_TRUE(same_bits(x, before));
}

/// The first rotation's rounding is all that is left.
TEST_P(Rope, IsUndoneByItsInverse) {
  Tensor x = make_x(1);
  const Expected before = values_of(x);

  rotate(x, false);
  rotate(x, true);

  expect_close(x, before, 2.0 * kRopeF32Error + 4.0 * epsilon(dtype()));
}

/// The backward of a rotation is its transpose: <y, R x> = <R' y, x>.
TEST_P(Rope, HasItsInverseAsBackward) {
  Tensor slopes = make_x(2);
  Expected x = values_of(make_x(1));
  const Expected slopes_before = values_of(slopes);
  const auto loss = [&] {
    return inner_product(slopes_before, reference::rope(x, angles(), shape().head_dim));
  };

  rotate(slopes, true);

  Expected differences{1, x.cols, {}};
  for (std::int64_t c = 0; c < x.cols; ++c) {
    differences.values.push_back(reference::central_difference(x, 0, c, loss));
  }
  const Expected first_row = reference::make_expected(
      1, x.cols, [&](std::int64_t, std::int64_t c) { return slopes.at(0, c); });
  expect_close(first_row, differences, {dtype(), kRopeF32Error});
}

INSTANTIATE_TEST_SUITE_P(All, Rope,
                         testing::Combine(testing::ValuesIn(supported_isas()),
                                          testing::Values(Dtype::f32, Dtype::bf16, Dtype::f16),
                                          testing::ValuesIn(kRopeShapes)));

TEST(Rope, QuarterTurnSwapsTheHalvesExactly) {
  for (const std::string& isa : supported_isas()) {
    Tensor x(Dtype::f32, 1, 6);
    for (std::int64_t c = 0; c < 6; ++c) x.set(0, c, static_cast<double>(c + 1));
    const Tensor cos(Dtype::f32, 1, 3);
    Tensor sin(Dtype::f32, 1, 3);
    for (std::int64_t i = 0; i < 3; ++i) sin.set(0, i, 1.0);
    const std::int32_t position = 0;

    kernels::rope(*open_cpu(isa), {.x = x.view(),
                                   .positions = vector_view(&position, 1),
                                   .cos = cos.view(),
                                   .sin = sin.view(),
                                   .head_dim = 6});

    const double expected[] = {-4.0, -5.0, -6.0, 1.0, 2.0, 3.0};
    for (std::int64_t c = 0; c < 6; ++c) EXPECT_EQ(x.at(0, c), expected[c]) << isa << ' ' << c;
  }
}

}  // namespace
}  // namespace muster::test
