#pragma once

#include <functional>
#include <vector>

#include "kernels/ops/matmul.hpp"
#include "kernels/ops/reduce.hpp"
#include "tests/support/tensor.hpp"

namespace muster::test::reference {

// The definitions of ops: plain loops, double sums, no rounding before the end.

/// A result in double precision, row-major [rows, cols].
struct Expected {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::vector<double> values;

  double at(std::int64_t row, std::int64_t col) const {
    return values[static_cast<std::size_t>(row * cols + col)];
  }
};

/// fn(row, col) for every element of [rows, cols].
Expected make_expected(std::int64_t rows, std::int64_t cols,
                       const std::function<double(std::int64_t, std::int64_t)>& fn);

/// op(a) * op(b) + addend(row, col); `magnitudes` sums |a||b| instead, for error bounds.
struct MatmulCase {
  const Tensor& a;
  const Tensor& b;
  bool transpose_a = false;
  bool transpose_b = false;
};
Expected matmul(const MatmulCase& args);
Expected matmul_magnitudes(const MatmulCase& args);

/// Sum over the rows of x: [1, cols].
Expected column_sum(const Tensor& x);

/// The sources combined in order, element by element, as [1, n].
Expected reduce(const std::vector<const Tensor*>& sources, kernels::ReduceOp op);

double norm_squared(const Tensor& x);

}  // namespace muster::test::reference
