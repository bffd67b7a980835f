#pragma once

#include <cstdint>

#include "tests/support/reference_numbers.hpp"
#include "tests/support/tensor.hpp"

namespace muster::test {

/// The elements of a tensor as doubles.
reference::Expected values_of(const Tensor& tensor);

/// Columns [begin, begin + n) of a matrix.
reference::Expected columns_of(const reference::Expected& matrix, std::int64_t begin,
                               std::int64_t n);

/// How far a kernel's result may be from the exact one.
struct Tolerance {
  Dtype dtype = Dtype::f32;  // stored as; half a unit in its last place is granted
  double computing = 0.0;    // in f32, before it is stored; absolute
};

/// Every element of `actual` is within `tolerance` of what is expected; says which is not.
void expect_close(const reference::Expected& actual, const reference::Expected& expected,
                  const Tolerance& tolerance);
void expect_close(const Tensor& actual, const reference::Expected& expected, double computing);

}  // namespace muster::test
