#include "tests/support/reference_numbers.hpp"

#include <algorithm>
#include <cmath>

namespace muster::test::reference {
namespace {

using Term = double (*)(double, double);

Expected multiply(const MatmulCase& args, Term term) {
  const std::int64_t rows = args.transpose_a ? args.a.cols() : args.a.rows();
  const std::int64_t inner = args.transpose_a ? args.a.rows() : args.a.cols();
  const std::int64_t cols = args.transpose_b ? args.b.rows() : args.b.cols();
  return make_expected(rows, cols, [&](std::int64_t r, std::int64_t c) {
    double sum = 0.0;
    for (std::int64_t i = 0; i < inner; ++i) {
      sum += term(args.transpose_a ? args.a.at(i, r) : args.a.at(r, i),
                  args.transpose_b ? args.b.at(c, i) : args.b.at(i, c));
    }
    return sum;
  });
}

double combine(double a, double b, kernels::ReduceOp op) {
  if (op == kernels::ReduceOp::prod) return a * b;
  if (op == kernels::ReduceOp::sum || op == kernels::ReduceOp::avg) return a + b;
  if (std::isnan(a) || std::isnan(b)) return std::nan("");
  return op == kernels::ReduceOp::max ? std::max(a, b) : std::min(a, b);
}

}  // namespace

Expected make_expected(std::int64_t rows, std::int64_t cols,
                       const std::function<double(std::int64_t, std::int64_t)>& fn) {
  Expected expected{rows, cols, {}};
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < cols; ++c) expected.values.push_back(fn(r, c));
  }
  return expected;
}

Expected matmul(const MatmulCase& args) {
  return multiply(args, [](double a, double b) { return a * b; });
}

Expected matmul_magnitudes(const MatmulCase& args) {
  return multiply(args, [](double a, double b) { return std::abs(a * b); });
}

Expected column_sum(const Tensor& x) {
  return make_expected(1, x.cols(), [&](std::int64_t, std::int64_t c) {
    double sum = 0.0;
    for (std::int64_t r = 0; r < x.rows(); ++r) sum += x.at(r, c);
    return sum;
  });
}

Expected reduce(const std::vector<const Tensor*>& sources, kernels::ReduceOp op) {
  return make_expected(1, sources.front()->cols(), [&](std::int64_t, std::int64_t c) {
    double result = sources.front()->at(0, c);
    for (std::size_t s = 1; s < sources.size(); ++s) {
      result = combine(result, sources[s]->at(0, c), op);
    }
    if (op == kernels::ReduceOp::avg) result /= static_cast<double>(sources.size());
    return result;
  });
}

double norm_squared(const Tensor& x) {
  double sum = 0.0;
  for (std::int64_t r = 0; r < x.rows(); ++r) {
    for (std::int64_t c = 0; c < x.cols(); ++c) sum += x.at(r, c) * x.at(r, c);
  }
  return sum;
}

}  // namespace muster::test::reference
