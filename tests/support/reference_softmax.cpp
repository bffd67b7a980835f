#include "tests/support/reference_softmax.hpp"

#include <algorithm>
#include <cmath>

namespace muster::test::reference {
namespace {

/// log of the sum of exp(logit) of one row.
double log_sum(const Expected& logits, std::int64_t row) {
  double top = logits.at(row, 0);
  for (std::int64_t c = 1; c < logits.cols; ++c) top = std::max(top, logits.at(row, c));
  double sum = 0.0;
  for (std::int64_t c = 0; c < logits.cols; ++c) sum += std::exp(logits.at(row, c) - top);
  return top + std::log(sum);
}

}  // namespace

double cross_entropy(const Expected& logits, const std::vector<std::int32_t>& targets) {
  double loss = 0.0;
  for (std::int64_t r = 0; r < logits.rows; ++r) {
    const std::int32_t target = targets[static_cast<std::size_t>(r)];
    if (target >= 0) loss += log_sum(logits, r) - logits.at(r, target);
  }
  return loss;
}

Expected cross_entropy_gradient(const Expected& logits, const std::vector<std::int32_t>& targets) {
  std::vector<double> log_sums(static_cast<std::size_t>(logits.rows));
  for (std::int64_t r = 0; r < logits.rows; ++r) {
    log_sums[static_cast<std::size_t>(r)] = log_sum(logits, r);
  }
  return make_expected(logits.rows, logits.cols, [&](std::int64_t r, std::int64_t c) {
    const auto row = static_cast<std::size_t>(r);
    if (targets[row] < 0) return 0.0;
    return std::exp(logits.at(r, c) - log_sums[row]) - (c == targets[row] ? 1.0 : 0.0);
  });
}

}  // namespace muster::test::reference
