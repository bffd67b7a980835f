#include "tests/support/close.hpp"

#include <cmath>

#include <gtest/gtest.h>

namespace muster::test {

reference::Expected values_of(const Tensor& tensor) {
  return reference::make_expected(
      tensor.rows(), tensor.cols(),
      [&](std::int64_t row, std::int64_t col) { return tensor.at(row, col); });
}

reference::Expected columns_of(const reference::Expected& matrix, std::int64_t begin,
                               std::int64_t n) {
  return reference::make_expected(matrix.rows, n, [&](std::int64_t row, std::int64_t col) {
    return matrix.at(row, begin + col);
  });
}

void expect_close(const reference::Expected& actual, const reference::Expected& expected,
                  const Tolerance& tolerance) {
  ASSERT_EQ(actual.rows, expected.rows);
  ASSERT_EQ(actual.cols, expected.cols);
  const double storing = epsilon(tolerance.dtype) / 2.0;
  // The step between subnormal numbers, which only those of f16 are large enough to need.
  const double subnormal = tolerance.dtype == Dtype::f16 ? 0x1p-25 : 0.0;
  for (std::int64_t r = 0; r < expected.rows; ++r) {
    for (std::int64_t c = 0; c < expected.cols; ++c) {
      const double magnitude = std::abs(expected.at(r, c)) + tolerance.computing;
      ASSERT_NEAR(actual.at(r, c), expected.at(r, c),
                  tolerance.computing + storing * magnitude + subnormal)
          << "at [" << r << ", " << c << "]";
    }
  }
}

void expect_close(const Tensor& actual, const reference::Expected& expected, double computing) {
  expect_close(values_of(actual), expected, {actual.dtype(), computing});
}

}  // namespace muster::test
