#include "runtime/bench/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/base/error.hpp"

namespace muster::runtime {

IterationStats statistics_of(std::span<const double> times) {
  if (times.empty()) return {};
  std::vector<double> sorted(times.begin(), times.end());
  std::sort(sorted.begin(), sorted.end());
  const std::size_t n = sorted.size();
  const auto percentile = [&](std::size_t percent) {
    return sorted[std::min(n - 1, (n * percent + 99) / 100 - 1)];
  };
  IterationStats stats;
  stats.min = sorted.front();
  stats.max = sorted.back();
  stats.p50 = sorted[n / 2];
  stats.p95 = percentile(95);
  stats.p99 = percentile(99);
  stats.mean = std::accumulate(sorted.begin(), sorted.end(), 0.0) / static_cast<double>(n);
  double squares = 0.0;
  for (const double time : sorted) squares += (time - stats.mean) * (time - stats.mean);
  stats.deviation = std::sqrt(squares / static_cast<double>(n));
  return stats;
}

double quantile(std::vector<double> values, double q) {
  MUSTER_ASSERT(!values.empty());
  std::sort(values.begin(), values.end());
  const double place = q * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return std::lerp(values[below], values[above], place - static_cast<double>(below));
}

double average_over_ranks(std::span<const double> times, Averaging averaging) {
  switch (averaging) {
    case Averaging::rank_0: return times.front();
    case Averaging::min: return *std::min_element(times.begin(), times.end());
    case Averaging::max: return *std::max_element(times.begin(), times.end());
    case Averaging::mean: break;
  }
  return std::accumulate(times.begin(), times.end(), 0.0) / static_cast<double>(times.size());
}

}  // namespace muster::runtime
