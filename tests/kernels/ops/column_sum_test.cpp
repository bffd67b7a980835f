#include <cmath>
#include <tuple>

#include <gtest/gtest.h>

#include "kernels/ops/matmul.hpp"
#include "tests/support/reference_numbers.hpp"
#include "tests/support/tensor.hpp"

namespace muster::test {
namespace {

struct ColumnSumShape {
  std::int64_t rows;
  std::int64_t cols;
  std::int64_t gap;
};

const ColumnSumShape kColumnSumShapes[] = {{1, 1, 0},   {3, 7, 2},   {15, 16, 0},
                                           {16, 17, 0}, {17, 63, 5}, {33, 65, 0},
                                           {100, 8, 0}, {0, 5, 0},   {129, 300, 1}};
using ColumnSumParam = std::tuple<std::string, Dtype, ColumnSumShape>;

class ColumnSum : public testing::TestWithParam<ColumnSumParam> {
 protected:
  Tensor make_x() const {
    const auto& [isa, dtype, shape] = GetParam();
    return {dtype, shape.rows, shape.cols, shape.gap};
  }
  std::unique_ptr<kernels::Device> device_ = open_cpu(std::get<0>(GetParam()), 2);
};

TEST_P(ColumnSum, OfWholeNumbersIsExact) {
  for (const bool accumulate : {false, true}) {
    Tensor x = make_x();
    x.fill_integers(1, 100);
    Tensor out(Dtype::f32, 1, x.cols());
    out.fill_integers(2, 100);
    const Tensor before = out;
    const reference::Expected expected = reference::column_sum(x);

    kernels::column_sum(*device_, {out.view(), x.view(), accumulate});

    EXPECT_TRUE(out.margins_are_untouched());
    for (std::int64_t c = 0; c < x.cols(); ++c) {
      ASSERT_EQ(out.at(0, c), expected.at(0, c) + (accumulate ? before.at(0, c) : 0.0)) << c;
    }
  }
}

TEST_P(ColumnSum, DoesNotDependOnTheNumberOfThreads) {
  Tensor x = make_x();
  x.fill_normal(1);
  Tensor one(Dtype::f32, 1, x.cols());
  Tensor three(Dtype::f32, 1, x.cols());

  kernels::column_sum(*open_cpu(std::get<0>(GetParam()), 1), {one.view(), x.view()});
  kernels::column_sum(*open_cpu(std::get<0>(GetParam()), 3), {three.view(), x.view()});

  EXPECT_TRUE(same_bits(one, three));
}

INSTANTIATE_TEST_SUITE_P(All, ColumnSum,
                         testing::Combine(testing::ValuesIn(supported_isas()),
                                          testing::Values(Dtype::f32, Dtype::bf16, Dtype::f16),
                                          testing::ValuesIn(kColumnSumShapes)));

}  // namespace
}  // namespace muster::test
