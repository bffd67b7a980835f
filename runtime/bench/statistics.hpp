#pragma once

#include <span>
#include <vector>

#include "runtime/bench/bench_options.hpp"

namespace muster::runtime {

/// Of a list of times, in its unit; the standard deviation is that of the list itself.
struct IterationStats {
  double min = 0.0;
  double max = 0.0;
  double mean = 0.0;
  double p50 = 0.0;
  double p95 = 0.0;
  double p99 = 0.0;
  double deviation = 0.0;

  /// Deviation in percent of the mean.
  double cv_percent() const noexcept { return mean > 0.0 ? 100.0 * deviation / mean : 0.0; }
};

/// All zero for an empty list. Percentiles are elements of the list, as in nccl-tests: p50 is
/// element n / 2 of the sorted list, the others the least element with so many percent at or below.
IterationStats statistics_of(std::span<const double> times);

/// The value below which a share `q` of 0 to 1 of the list lies, interpolated; the list may not be
/// empty.
double quantile(std::vector<double> values, double q);

/// One number for all ranks' times, [ranks].
double average_over_ranks(std::span<const double> times, Averaging averaging);

}  // namespace muster::runtime
