#include "kernels/ops/rms_norm.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include <gtest/gtest.h>

#include "tests/support/close.hpp"
#include "tests/support/finite_difference.hpp"
#include "tests/support/reference_layers.hpp"
#include "tests/support/tensor.hpp"

namespace muster::test {
namespace {

using reference::Expected;

constexpr float kEps = 1e-5F;
/// Of sums of up to a thousand products of standard normal values, divided by their number.
constexpr double kRmsNormF32Error = 3e-6;

struct RmsNormShape {
  std::int64_t tokens;
  std::int64_t hidden;
  std::int64_t gap;
};

const RmsNormShape kRmsNormShapes[] = {{1, 1, 0},    {3, 7, 2},   {2, 8, 0},   {5, 15, 1},
                                       {16, 16, 0},  {17, 17, 3}, {33, 64, 0}, {40, 100, 5},
                                       {65, 288, 0}, {3, 1000, 0}};
using RmsNormParam = std::tuple<std::string, Dtype, RmsNormShape>;

class RmsNorm : public testing::TestWithParam<RmsNormParam> {
 protected:
  const RmsNormShape& shape() const { return std::get<2>(GetParam()); }
  Dtype dtype() const { return std::get<1>(GetParam()); }
  Tensor matrix(std::uint64_t key) const {
    return std::move(Tensor(dtype(), shape().tokens, shape().hidden, shape().gap).fill_normal(key));
  }
  Tensor gains() const { return std::move(Tensor(dtype(), 1, shape().hidden).fill_normal(9)); }
  Tensor rstds() const { return {Dtype::f32, 1, shape().tokens}; }
  /// What the header defines, given rstd: two roundings, in this order.
  void expect_normalised(const Tensor& y, const Tensor& x, const Tensor& gain,
                         const Tensor& rstd) const {
    for (std::int64_t r = 0; r < y.rows(); ++r) {
      for (std::int64_t c = 0; c < y.cols(); ++c) {
        const double unit = rounded(x.at(r, c) * rstd.at(0, r), dtype());
        ASSERT_EQ(y.at(r, c), rounded(unit * gain.at(0, c), dtype())) << r << ' ' << c;
      }
    }
  }
  std::unique_ptr<kernels::Device> device_ = open_cpu(std::get<0>(GetParam()), 2);
};

TEST_P(RmsNorm, RoundsBeforeItMultipliesByTheGain) {
  const Tensor x = matrix(1);
  const Tensor gain = gains();
  Tensor y = matrix(2);
  Tensor rstd = rstds();

  kernels::rms_norm(
      *device_,
      {.y = y.view(), .rstd = rstd.view(), .x = x.view(), .gain = gain.view(), .eps = kEps});

  const Expected expected = reference::rms_norm_rstd(values_of(x), static_cast<double>(kEps));
  for (std::int64_t r = 0; r < x.rows(); ++r) {
    EXPECT_NEAR(rstd.at(0, r), expected.at(0, r), kRmsNormF32Error * expected.at(0, r)) << r;
  }
  expect_normalised(y, x, gain, rstd);
  EXPECT_TRUE(y.margins_are_untouched());
  EXPECT_TRUE(rstd.margins_are_untouched());
}

TEST_P(RmsNorm, NormalisesTheRoundedSumWhenAnAddendIsGiven) {
  const Tensor x = matrix(1);
  const Tensor addend = matrix(2);
  const Tensor gain = gains();
  Tensor y = matrix(3);
  Tensor sum = matrix(4);
  Tensor rstd = rstds();

  kernels::rms_norm(*device_, {.y = y.view(),
                               .rstd = rstd.view(),
                               .x = x.view(),
                               .gain = gain.view(),
                               .eps = kEps,
                               .addend = addend.view(),
                               .sum = sum.view()});

  for (std::int64_t r = 0; r < x.rows(); ++r) {
    for (std::int64_t c = 0; c < x.cols(); ++c) {
      ASSERT_EQ(sum.at(r, c), rounded(x.at(r, c) + addend.at(r, c), dtype())) << r << ' ' << c;
    }
  }
  const Expected expected = reference::rms_norm_rstd(values_of(sum), static_cast<double>(kEps));
  for (std::int64_t r = 0; r < x.rows(); ++r) {
    EXPECT_NEAR(rstd.at(0, r), expected.at(0, r), kRmsNormF32Error * expected.at(0, r)) << r;
  }
  expect_normalised(y, sum, gain, rstd);
  EXPECT_TRUE(y.margins_are_untouched());
  EXPECT_TRUE(sum.margins_are_untouched());
}

TEST_P(RmsNorm, WorksInPlace) {
  const Tensor gain = gains();
  Tensor y = matrix(3);
  Tensor sum = matrix(4);
  const Tensor x = matrix(1);
  const Tensor addend = matrix(2);
  kernels::rms_norm(*device_, {.y = y.view(),
                               .x = x.view(),
                               .gain = gain.view(),
                               .addend = addend.view(),
                               .sum = sum.view()});

  Tensor onto_x = x;
  Tensor onto_addend = addend;
  kernels::rms_norm(*device_, {.y = onto_x.view(),
                               .x = onto_x.view(),
                               .gain = gain.view(),
                               .addend = onto_addend.view(),
                               .sum = onto_addend.view()});
  EXPECT_TRUE(same_bits(onto_x, y));
  EXPECT_TRUE(same_bits(onto_addend, sum));

  Tensor sum_onto_x = x;
  Tensor other_y = matrix(5);
  kernels::rms_norm(*device_, {.y = other_y.view(),
                               .x = sum_onto_x.view(),
                               .gain = gain.view(),
                               .addend = addend.view(),
                               .sum = sum_onto_x.view()});
  EXPECT_TRUE(same_bits(other_y, y));
  EXPECT_TRUE(same_bits(sum_onto_x, sum));
}

/// The inputs and outputs of one backward.
struct Backward {
  Tensor dx;
  Tensor dgain;
  Tensor dy;
  Tensor x;
  Tensor gain;
  Tensor rstd;

  void run(kernels::Device& device, ConstTensorView addend = {}, bool accumulate = false) {
    kernels::rms_norm_backward(device, {.dx = dx.view(),
                                        .dgain = dgain.view(),
                                        .dy = dy.view(),
                                        .x = x.view(),
                                        .gain = gain.view(),
                                        .rstd = rstd.view(),
                                        .addend = addend,
                                        .accumulate = accumulate});
  }
  reference::RmsNormGradients expected() const {
    return reference::rms_norm_backward(values_of(dy), values_of(x), values_of(gain),
                                        values_of(rstd));
  }
};

class RmsNormBackward : public RmsNorm {
 protected:
  Backward make_backward() const {
    Backward all{matrix(3), Tensor(Dtype::f32, 1, shape().hidden), matrix(2), matrix(1), gains(),
                 rstds()};
    const Expected rstd = reference::rms_norm_rstd(values_of(all.x), static_cast<double>(kEps));
    for (std::int64_t r = 0; r < shape().tokens; ++r) all.rstd.set(0, r, rstd.at(0, r));
    all.dgain.fill_normal(7);
    return all;
  }
  /// A column of dgain adds one product of two normal values per token.
  double gain_error() const { return kRmsNormF32Error * static_cast<double>(shape().tokens); }
};

/// One column makes xhat 1 up to eps and dx a difference of equal numbers near 1 / |x|.
double dx_error(const Backward& all) {
  double largest = 1.0;
  for (std::int64_t r = 0; r < all.x.rows(); ++r) largest = std::max(largest, all.rstd.at(0, r));
  return kRmsNormF32Error * largest;
}

TEST_P(RmsNormBackward, MatchesTheReference) {
  Backward all = make_backward();

  all.run(*device_);

  expect_close(all.dx, all.expected().dx, dx_error(all));
  expect_close(all.dgain, all.expected().dgain, gain_error());
  EXPECT_TRUE(all.dx.margins_are_untouched());
  EXPECT_TRUE(all.dgain.margins_are_untouched());
}

TEST_P(RmsNormBackward, AddsTheOtherGradientAndAccumulatesThatOfTheGain) {
  Backward all = make_backward();
  const Tensor addend = matrix(5);
  const Tensor before = all.dgain;
  reference::RmsNormGradients expected = all.expected();
  for (std::int64_t c = 0; c < shape().hidden; ++c) {
    expected.dgain.values[static_cast<std::size_t>(c)] += before.at(0, c);
    for (std::int64_t r = 0; r < shape().tokens; ++r) {
      expected.dx.values[static_cast<std::size_t>(r * shape().hidden + c)] += addend.at(r, c);
    }
  }

  all.run(*device_, addend.view(), true);

  expect_close(all.dx, expected.dx, dx_error(all));
  expect_close(all.dgain, expected.dgain, gain_error());
}

TEST_P(RmsNormBackward, WorksInPlaceAndWithoutAGainGradient) {
  Backward all = make_backward();
  const Tensor addend = matrix(5);
  all.run(*device_, addend.view());

  Tensor onto_dy = all.dy;
  Tensor onto_addend = addend;
  kernels::rms_norm_backward(*device_, {.dx = onto_dy.view(),
                                        .dy = onto_dy.view(),
                                        .x = all.x.view(),
                                        .gain = all.gain.view(),
                                        .rstd = all.rstd.view(),
                                        .addend = addend.view()});
  kernels::rms_norm_backward(*device_, {.dx = onto_addend.view(),
                                        .dy = all.dy.view(),
                                        .x = all.x.view(),
                                        .gain = all.gain.view(),
                                        .rstd = all.rstd.view(),
                                        .addend = onto_addend.view()});

  EXPECT_TRUE(same_bits(onto_dy, all.dx));
  EXPECT_TRUE(same_bits(onto_addend, all.dx));
}

TEST_P(RmsNormBackward, DoesNotDependOnTheNumberOfThreads) {
  Backward one = make_backward();
  Backward three = make_backward();

  one.run(*open_cpu(std::get<0>(GetParam()), 1));
  three.run(*open_cpu(std::get<0>(GetParam()), 3));

  EXPECT_TRUE(same_bits(one.dx, three.dx));
  EXPECT_TRUE(same_bits(one.dgain, three.dgain));
}

const auto kCases = testing::Combine(testing::ValuesIn(supported_isas()),
                                     testing::Values(Dtype::f32, Dtype::bf16, Dtype::f16),
                                     testing::ValuesIn(kRmsNormShapes));
INSTANTIATE_TEST_SUITE_P(All, RmsNorm, kCases);
INSTANTIATE_TEST_SUITE_P(All, RmsNormBackward, kCases);

class RmsNormCase : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(All, RmsNormCase, testing::ValuesIn(supported_isas()));

TEST_P(RmsNormCase, OfValuesOfOneMagnitudeIsTheGainExactly) {
  Tensor x(Dtype::f32, 1, 20);
  Tensor gain(Dtype::f32, 1, 20);
  gain.fill_integers(1, 100);
  for (std::int64_t c = 0; c < 20; ++c) x.set(0, c, c % 3 == 0 ? -4.0 : 4.0);
  Tensor y(Dtype::f32, 1, 20);
  Tensor rstd(Dtype::f32, 1, 1);

  kernels::rms_norm(
      *open_cpu(GetParam()),
      {.y = y.view(), .rstd = rstd.view(), .x = x.view(), .gain = gain.view(), .eps = 0.0F});

  EXPECT_EQ(rstd.at(0, 0), 0.25);
  for (std::int64_t c = 0; c < 20; ++c) {
    EXPECT_EQ(y.at(0, c), c % 3 == 0 ? -gain.at(0, c) : gain.at(0, c)) << c;
  }
}

/// Against differences of the reference's forward; the tolerance is that of the f32 kernel, since
/// the difference's own error is 1e-8.
TEST_P(RmsNormCase, BackwardMatchesFiniteDifferences) {
  Tensor x(Dtype::f32, 4, 21);
  Tensor dy(Dtype::f32, 4, 21);
  Tensor gain(Dtype::f32, 1, 21);
  x.fill_normal(1);
  dy.fill_normal(2);
  gain.fill_normal(3);
  Tensor y(Dtype::f32, 4, 21);
  Tensor rstd(Dtype::f32, 1, 4);
  Tensor dx(Dtype::f32, 4, 21);
  Tensor dgain(Dtype::f32, 1, 21);
  const auto device = open_cpu(GetParam());
  kernels::rms_norm(*device,
                    {.y = y.view(), .rstd = rstd.view(), .x = x.view(), .gain = gain.view()});
  kernels::rms_norm_backward(*device, {.dx = dx.view(),
                                       .dgain = dgain.view(),
                                       .dy = dy.view(),
                                       .x = x.view(),
                                       .gain = gain.view(),
                                       .rstd = rstd.view()});

  Expected at_x = values_of(x);
  Expected at_gain = values_of(gain);
  const Expected slopes = values_of(dy);
  const auto loss = [&] {
    return inner_product(slopes, reference::rms_norm(at_x, at_gain, static_cast<double>(kEps)));
  };
  for (std::int64_t c = 0; c < 21; ++c) {
    EXPECT_NEAR(dgain.at(0, c), reference::central_difference(at_gain, 0, c, loss),
                4 * kRmsNormF32Error);
    for (std::int64_t r = 0; r < 4; ++r) {
      EXPECT_NEAR(dx.at(r, c), reference::central_difference(at_x, r, c, loss), kRmsNormF32Error);
    }
  }
}

}  // namespace
}  // namespace muster::test
