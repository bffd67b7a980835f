#pragma once

#include <cmath>
#include <cstdint>

#include "tests/support/reference_numbers.hpp"

namespace muster::test::reference {

/// The step of a central difference of a function in double precision: its error, about the third
/// derivative times the square of the step plus 1e-16 divided by the step, is then 1e-8 at most for
/// functions whose derivatives are near 1, far below that of an f32 kernel.
inline constexpr double kDifferenceStep = 1e-4;

/// The derivative of fn() by element (row, col) of `at`, which fn reads and which is restored.
template <typename Function>
double central_difference(Expected& at, std::int64_t row, std::int64_t col, const Function& fn) {
  double& x = at.values[static_cast<std::size_t>(row * at.cols + col)];
  const double before = x;
  x = before + kDifferenceStep;
  const double above = fn();
  x = before - kDifferenceStep;
  const double below = fn();
  x = before;
  return (above - below) / (2.0 * kDifferenceStep);
}

/// The sum of the products of the elements: with `slopes` the gradient of a loss by a result, a
/// loss whose gradient by the inputs is what a backward kernel computes.
inline double inner_product(const Expected& slopes, const Expected& result) {
  double sum = 0.0;
  for (std::size_t i = 0; i < result.values.size(); ++i) sum += slopes.values[i] * result.values[i];
  return sum;
}

}  // namespace muster::test::reference
