#pragma once

#include <string>

#include "runtime/bench/report.hpp"

namespace muster::runtime {

/// One self-contained page, without scripts or anything from outside: a curve of bus bandwidth over
/// size for every operation, the table, the matrix of pairs as a heat map (value on hover and in
/// the cell) with what was found.
std::string html_report(const BenchReport& report);

}  // namespace muster::runtime
