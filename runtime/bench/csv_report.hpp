#pragma once

#include <string>

#include "runtime/bench/report.hpp"

namespace muster::runtime {

/// One line of names, then one line per row: operation, bytes, count, type, redop, root, and for
/// each half time_us, algbw_gbs, busbw_gbs, wrong (empty when not checked), and, when single
/// iterations were kept, p50_us, p95_us, p99_us, max_us.
std::string csv_report(const BenchReport& report);

}  // namespace muster::runtime
