#pragma once

#include <string>
#include <string_view>

#include "runtime/bench/report.hpp"

namespace muster::runtime {

// The table of the OSU micro-benchmarks with -f: size, and the mean over ranks with the least and
// the largest rank's time, out of place. Whole lines without the last newline.

/// Title and names of the columns.
std::string osu_header(const BenchReport& report, std::string_view operation);
/// Needs the iterations of every rank.
std::string osu_row(const BenchRow& row);

}  // namespace muster::runtime
