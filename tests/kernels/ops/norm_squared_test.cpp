#include <cmath>
#include <limits>
#include <tuple>

#include <gtest/gtest.h>

#include "kernels/ops/reduce.hpp"
#include "tests/support/reference_numbers.hpp"
#include "tests/support/tensor.hpp"

namespace muster::test {
namespace {

struct NormSquaredShape {
  std::int64_t rows;
  std::int64_t cols;
  std::int64_t gap;
};

const NormSquaredShape kNormSquaredShapes[] = {{0, 3, 0},  {1, 1, 0},  {1, 31, 0},  {1, 32, 0},
                                               {1, 33, 0}, {7, 45, 3}, {3, 500, 0}, {1, 50001, 0}};
using NormSquaredParam = std::tuple<std::string, Dtype, NormSquaredShape>;

class NormSquared : public testing::TestWithParam<NormSquaredParam> {
 protected:
  Tensor make_x() const {
    const auto& [isa, dtype, shape] = GetParam();
    return {dtype, shape.rows, shape.cols, shape.gap};
  }
  std::unique_ptr<kernels::Device> device_ = open_cpu(std::get<0>(GetParam()), 2);
};

TEST_P(NormSquared, OfWholeNumbersIsExact) {
  Tensor x = make_x();
  x.fill_integers(1, 100);
  Tensor out(Dtype::f64, 1, 2);
  out.set(0, 0, 3.0);
  out.set(0, 1, 1.0);

  kernels::norm_squared(*device_, {out.view(), x.view()});
  EXPECT_EQ(out.at(0, 0), reference::norm_squared(x));
  EXPECT_EQ(out.at(0, 1), 0.0);

  kernels::norm_squared(*device_, {out.view(), x.view(), true});
  EXPECT_EQ(out.at(0, 0), 2.0 * reference::norm_squared(x));
  EXPECT_EQ(out.at(0, 1), 0.0);
}

/// n additions in f64, each off by half a unit in the last place of the sum at most.
TEST_P(NormSquared, OfNormalNumbersErrsByRoundingOnly) {
  Tensor x = make_x();
  x.fill_normal(1);
  Tensor out(Dtype::f64, 1, 2);

  kernels::norm_squared(*device_, {out.view(), x.view()});

  const double expected = reference::norm_squared(x);
  EXPECT_NEAR(out.at(0, 0), expected,
              expected * epsilon(Dtype::f64) * static_cast<double>(x.rows() * x.cols()));
}

TEST_P(NormSquared, FlagsAnElementThatIsNotFinite) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const double bad : {kInfinity, -kInfinity, std::nan("")}) {
    Tensor x = make_x();
    if (x.view().count() == 0) return;
    x.set(x.rows() - 1, x.cols() - 1, bad);
    Tensor out(Dtype::f64, 1, 2);

    kernels::norm_squared(*device_, {out.view(), x.view()});
    EXPECT_EQ(out.at(0, 1), 1.0);

    const Tensor finite(x.dtype(), 1, 5);
    kernels::norm_squared(*device_, {out.view(), finite.view(), true});
    EXPECT_EQ(out.at(0, 1), 1.0) << "a finite tensor must not take the flag back";
  }
}

TEST_P(NormSquared, DoesNotDependOnThreadsOrInstructionSet) {
  Tensor x = make_x();
  x.fill_normal(1);
  Tensor first(Dtype::f64, 1, 2);
  kernels::norm_squared(*device_, {first.view(), x.view()});

  for (const std::string& isa : supported_isas()) {
    for (const int threads : {1, 3}) {
      Tensor out(Dtype::f64, 1, 2);
      kernels::norm_squared(*open_cpu(isa, threads), {out.view(), x.view()});
      EXPECT_TRUE(same_bits(first, out)) << isa << " " << threads;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, NormSquared,
                         testing::Combine(testing::ValuesIn(supported_isas()),
                                          testing::Values(Dtype::f32, Dtype::bf16, Dtype::f16),
                                          testing::ValuesIn(kNormSquaredShapes)));

TEST(NormSquared, OfTheLargestFloatsIsFinite) {
  Tensor x(Dtype::f32, 1, 40000);
  for (std::int64_t i = 0; i < 40000; ++i) x.set(0, i, std::numeric_limits<float>::max());
  Tensor out(Dtype::f64, 1, 2);

  kernels::norm_squared(*open_cpu(""), {out.view(), x.view()});

  EXPECT_TRUE(std::isfinite(out.at(0, 0)));
  EXPECT_EQ(out.at(0, 1), 0.0);
}

}  // namespace
}  // namespace muster::test
