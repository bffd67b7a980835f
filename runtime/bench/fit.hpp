#pragma once

#include <optional>
#include <span>
#include <vector>

#include "runtime/bench/report.hpp"

namespace muster::runtime {

struct TimedSize {
  double bytes = 0.0;
  double seconds = 0.0;
};

/// The line through the points that makes the sum of squared relative errors least: every size
/// weighs the same, whether it takes microseconds or seconds. The errors are twice the standard
/// errors that the residuals imply. Nothing for fewer than three points or a single size.
///
/// Unless at least two sizes take as long for their bytes as for their start, what varies is not
/// bandwidth: then the line is level, at the latency, and beta_s is 0.
std::optional<LineFit> fit_line(std::span<const TimedSize> points);

/// One fit for every operation, type, reduction and root in the rows; out of place.
std::vector<NamedFit> fit_rows(const std::vector<BenchRow>& rows);

}  // namespace muster::runtime
