#include "kernels/ops/softmax.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/close.hpp"
#include "tests/support/finite_difference.hpp"
#include "tests/support/reference_softmax.hpp"
#include "tests/support/tensor.hpp"

namespace muster::test {
namespace {

using reference::Expected;

constexpr double kInf = std::numeric_limits<double>::infinity();
/// An exponential to 2 units in the last place, relative; sums go on in f64 after 1024 columns.
constexpr double kSoftmaxF32Error = 1e-6;

/// The statistics of rows of logits, and the loss made from them.
struct Statistics {
  explicit Statistics(std::int64_t rows)
      : max(Dtype::f32, 1, rows), sum(Dtype::f32, 1, rows), target(Dtype::f32, 1, rows) {}

  void compute(kernels::Device& device, const ConstTensorView& logits,
               const std::vector<std::int32_t>& targets, std::int64_t vocab_begin = 0) {
    kernels::softmax_statistics(device, {.max = max.view(),
                                         .sum = sum.view(),
                                         .target = target.view(),
                                         .logits = logits,
                                         .targets = vector_view(targets.data(), logits.rows),
                                         .vocab_begin = vocab_begin});
  }
  double loss(kernels::Device& device, const std::vector<std::int32_t>& targets) const {
    Tensor out(Dtype::f64, 1, 1);
    kernels::softmax_loss(device, {.loss = out.view(),
                                   .max = max.view(),
                                   .sum = sum.view(),
                                   .target = target.view(),
                                   .targets = vector_view(targets.data(), max.cols())});
    return out.at(0, 0);
  }
  void gradient(kernels::Device& device, TensorView dlogits, const ConstTensorView& logits,
                const std::vector<std::int32_t>& targets, float seed,
                std::int64_t vocab_begin = 0) const {
    kernels::softmax_gradient(device, {.dlogits = dlogits,
                                       .logits = logits,
                                       .max = max.view(),
                                       .sum = sum.view(),
                                       .targets = vector_view(targets.data(), logits.rows),
                                       .seed = vector_view(&seed, 1),
                                       .vocab_begin = vocab_begin});
  }

  Tensor max;
  Tensor sum;
  Tensor target;
};

struct SoftmaxShape {
  std::int64_t rows;
  std::int64_t vocab;
  std::int64_t gap;
};

const SoftmaxShape kSoftmaxShapes[] = {{1, 1, 0},    {3, 7, 1},    {5, 8, 0},
                                       {7, 16, 2},   {9, 17, 0},   {4, 100, 3},
                                       {3, 1023, 0}, {2, 1025, 0}, {5, 5000, 1}};
using SoftmaxParam = std::tuple<std::string, Dtype, SoftmaxShape>;

class Softmax : public testing::TestWithParam<SoftmaxParam> {
 protected:
  Softmax() {
    logits_.fill_normal(1);
    for (std::int64_t r = 0; r < shape().rows; ++r) {  // every fourth row is masked
      targets_.push_back(r % 4 == 3 ? -100
                                    : static_cast<std::int32_t>((r * 37 + 5) % shape().vocab));
      if (r == 0) targets_.back() = static_cast<std::int32_t>(shape().vocab - 1);
      for (std::int64_t c = 0; c < shape().vocab; ++c) {  // large logits, to need the maximum
        logits_.set(r, c, 10.0 * logits_.at(r, c) + 80.0);
      }
    }
  }

  const SoftmaxShape& shape() const { return std::get<2>(GetParam()); }
  Dtype dtype() const { return std::get<1>(GetParam()); }

  std::unique_ptr<kernels::Device> device_ = open_cpu(std::get<0>(GetParam()), 2);
  Tensor logits_{dtype(), shape().rows, shape().vocab, shape().gap};
  std::vector<std::int32_t> targets_;
};

TEST_P(Softmax, StatisticsMatchTheReference) {
  Statistics statistics(shape().rows);

  statistics.compute(*device_, logits_.view(), targets_);

  for (std::int64_t r = 0; r < shape().rows; ++r) {
    double max = -kInf;
    for (std::int64_t c = 0; c < shape().vocab; ++c) max = std::max(max, logits_.at(r, c));
    double sum = 0.0;
    for (std::int64_t c = 0; c < shape().vocab; ++c) sum += std::exp(logits_.at(r, c) - max);
    const std::int32_t target = targets_[static_cast<std::size_t>(r)];
    EXPECT_EQ(statistics.max.at(0, r), max) << r;
    EXPECT_NEAR(statistics.sum.at(0, r), sum, kSoftmaxF32Error * sum) << r;
    EXPECT_EQ(statistics.target.at(0, r), target < 0 ? 0.0 : logits_.at(r, target)) << r;
  }
  EXPECT_TRUE(statistics.sum.margins_are_untouched());
  const double expected = reference::cross_entropy(values_of(logits_), targets_);
  EXPECT_NEAR(statistics.loss(*device_, targets_), expected, kSoftmaxF32Error * (1.0 + expected));
}

TEST_P(Softmax, GradientMatchesTheReferenceInEveryDtypeAndInPlace) {
  Statistics statistics(shape().rows);
  statistics.compute(*device_, logits_.view(), targets_);
  constexpr float kSeed = 0.5F;
  Expected expected = reference::cross_entropy_gradient(values_of(logits_), targets_);
  for (double& value : expected.values) value *= static_cast<double>(kSeed);

  for (const Dtype to : {Dtype::f32, Dtype::bf16, Dtype::f16}) {
    Tensor dlogits(to, shape().rows, shape().vocab, 4);
    dlogits.fill_normal(3);

    statistics.gradient(*device_, dlogits.view(), logits_.view(), targets_, kSeed);

    expect_close(dlogits, expected, kSoftmaxF32Error);
    EXPECT_TRUE(dlogits.margins_are_untouched());
    if (to != dtype()) continue;
    Tensor in_place = logits_;
    statistics.gradient(*device_, in_place.view(), in_place.view(), targets_, kSeed);
    EXPECT_TRUE(same_bits(in_place, dlogits));
  }
}

/// A vocabulary cut in two, whose parts know of each other only by the statistics.
TEST_P(Softmax, OfACutVocabularyCombinesToTheWhole) {
  if (shape().vocab < 2) return;
  const std::int64_t cut = shape().vocab / 3 + 1;
  const ConstTensorView parts[] = {
      std::as_const(logits_).view().cols_from(0, cut),
      std::as_const(logits_).view().cols_from(cut, shape().vocab - cut)};
  Statistics both[] = {Statistics(shape().rows), Statistics(shape().rows)};
  both[0].compute(*device_, parts[0], targets_, 0);
  both[1].compute(*device_, parts[1], targets_, cut);

  Statistics whole(shape().rows);
  for (std::int64_t r = 0; r < shape().rows; ++r) {
    const double max = std::max(both[0].max.at(0, r), both[1].max.at(0, r));
    double sum = 0.0;
    double target = 0.0;
    for (const Statistics& part : both) {
      sum += part.sum.at(0, r) * std::exp(part.max.at(0, r) - max);
      target += part.target.at(0, r);
    }
    whole.max.set(0, r, max);
    whole.sum.set(0, r, sum);
    whole.target.set(0, r, target);
  }
  const double expected = reference::cross_entropy(values_of(logits_), targets_);
  EXPECT_NEAR(whole.loss(*device_, targets_), expected, kSoftmaxF32Error * (1.0 + expected));

  Tensor dlogits(Dtype::f32, shape().rows, shape().vocab);
  whole.gradient(*device_, dlogits.view().cols_from(0, cut), parts[0], targets_, 1.0F, 0);
  whole.gradient(*device_, dlogits.view().cols_from(cut, shape().vocab - cut), parts[1], targets_,
                 1.0F, cut);
  expect_close(dlogits, reference::cross_entropy_gradient(values_of(logits_), targets_),
               kSoftmaxF32Error);
}

INSTANTIATE_TEST_SUITE_P(All, Softmax,
                         testing::Combine(testing::ValuesIn(supported_isas()),
                                          testing::Values(Dtype::f32, Dtype::bf16, Dtype::f16),
                                          testing::ValuesIn(kSoftmaxShapes)));

class SoftmaxCase : public testing::TestWithParam<std::string> {
 protected:
  std::unique_ptr<kernels::Device> device_ = open_cpu(GetParam());
};
INSTANTIATE_TEST_SUITE_P(All, SoftmaxCase, testing::ValuesIn(supported_isas()));

/// Values of PyTorch's cross_entropy(reduction="sum") with ignore_index -100, six digits.
TEST_P(SoftmaxCase, GivesTheValuesOfPyTorch) {
  Tensor logits(Dtype::f32, 3, 3);
  const double values[3][3] = {{1, 2, 3}, {0, 0, 0}, {3, 1, 0}};
  for (std::int64_t r = 0; r < 3; ++r) {
    for (std::int64_t c = 0; c < 3; ++c) logits.set(r, c, values[r][c]);
  }
  const std::vector<std::int32_t> targets = {2, -100, 1};
  Statistics statistics(3);
  Tensor dlogits(Dtype::f32, 3, 3);

  statistics.compute(*device_, logits.view(), targets);
  statistics.gradient(*device_, dlogits.view(), logits.view(), targets, 0.5F);

  EXPECT_NEAR(statistics.loss(*device_, targets), 2.577452, 5e-7);
  const double expected[3][3] = {
      {.045015, .122364, -.167379}, {0, 0, 0}, {.421897, -.442902, .021005}};
  for (std::int64_t r = 0; r < 3; ++r) {
    for (std::int64_t c = 0; c < 3; ++c) EXPECT_NEAR(dlogits.at(r, c), expected[r][c], 6e-7);
  }
}

TEST_P(SoftmaxCase, OfMaskedRowsIsZeroWhateverTheirLogits) {
  Tensor logits(Dtype::f32, 2, 20);
  logits.set(0, 3, std::nan(""));
  logits.set(1, 3, kInf);
  const std::vector<std::int32_t> targets = {-100, -1};
  Statistics statistics(2);
  Tensor dlogits(Dtype::f32, 2, 20);
  dlogits.fill_normal(1);

  statistics.compute(*device_, logits.view(), targets);
  statistics.gradient(*device_, dlogits.view(), logits.view(), targets, 1.0F);

  EXPECT_EQ(statistics.loss(*device_, targets), 0.0);
  for (const double value : values_of(dlogits).values) EXPECT_EQ(value, 0.0);
}

TEST_P(SoftmaxCase, ShowsWhatIsNotANumber) {
  for (const double bad : {std::nan(""), kInf}) {
    for (const std::int64_t column : {0, 19, 20}) {  // within a register and after the last
      Tensor logits(Dtype::f32, 1, 21);
      logits.set(0, column, bad);
      const std::vector<std::int32_t> targets = {4};
      Statistics statistics(1);
      Tensor dlogits(Dtype::f32, 1, 21);

      statistics.compute(*device_, logits.view(), targets);
      statistics.gradient(*device_, dlogits.view(), logits.view(), targets, 1.0F);

      EXPECT_TRUE(std::isnan(statistics.loss(*device_, targets))) << bad << ' ' << column;
      EXPECT_TRUE(std::isnan(dlogits.at(0, column))) << bad << ' ' << column;
    }
  }
}

TEST_P(SoftmaxCase, TakesMinusInfinityForAProbabilityOfZero) {
  Tensor logits(Dtype::f32, 1, 40);
  for (std::int64_t c = 0; c < 40; ++c) logits.set(0, c, c < 36 ? -kInf : 1.0);
  const std::vector<std::int32_t> targets = {37};
  Statistics statistics(1);
  Tensor dlogits(Dtype::f32, 1, 40);

  statistics.compute(*device_, logits.view(), targets);
  statistics.gradient(*device_, dlogits.view(), logits.view(), targets, 1.0F);

  EXPECT_NEAR(statistics.loss(*device_, targets), std::log(4.0), kSoftmaxF32Error);
  EXPECT_NEAR(dlogits.at(0, 0), 0.0, 1e-37);
  EXPECT_EQ(dlogits.at(0, 37), -0.75);

  for (std::int64_t c = 0; c < 40; ++c) logits.set(0, c, -kInf);
  statistics.compute(*device_, logits.view(), targets);
  EXPECT_TRUE(std::isnan(statistics.loss(*device_, targets))) << "no logit is possible";
}

TEST_P(SoftmaxCase, LossAddsToWhatIsThereWhenAsked) {
  Tensor loss(Dtype::f64, 1, 1);
  loss.set(0, 0, 3.0);
  Tensor max(Dtype::f32, 1, 2);
  Tensor sum(Dtype::f32, 1, 2);
  Tensor target(Dtype::f32, 1, 2);
  max.set(0, 0, 5.0);
  sum.set(0, 0, 1.0);
  target.set(0, 0, 4.5);
  const std::int32_t targets[] = {7, -1};

  kernels::softmax_loss(*device_, {.loss = loss.view(),
                                   .max = max.view(),
                                   .sum = sum.view(),
                                   .target = target.view(),
                                   .targets = vector_view(targets, 2),
                                   .accumulate = true});

  EXPECT_EQ(loss.at(0, 0), 3.5);
}

/// Against differences of the reference's loss; the tolerance is that of the f32 kernel, since the
/// difference's own error is 1e-8.
TEST_P(SoftmaxCase, GradientMatchesFiniteDifferences) {
  Tensor logits(Dtype::f32, 3, 19);
  logits.fill_normal(1);
  const std::vector<std::int32_t> targets = {18, -1, 0};
  Statistics statistics(3);
  Tensor dlogits(Dtype::f32, 3, 19);

  statistics.compute(*device_, logits.view(), targets);
  statistics.gradient(*device_, dlogits.view(), logits.view(), targets, 1.0F);

  Expected at = values_of(logits);
  const auto loss = [&] { return reference::cross_entropy(at, targets); };
  for (std::int64_t r = 0; r < 3; ++r) {
    for (std::int64_t c = 0; c < 19; ++c) {
      EXPECT_NEAR(dlogits.at(r, c), reference::central_difference(at, r, c, loss),
                  kSoftmaxF32Error);
    }
  }
}

}  // namespace
}  // namespace muster::test
