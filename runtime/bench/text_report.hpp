#pragma once

#include <string>
#include <string_view>

#include "runtime/bench/report.hpp"

namespace muster::runtime {

// The text output of nccl-tests 2.19.6, column for column, so that what reads theirs reads ours.
// Every function returns whole lines without the last newline.

/// A number fitted into a cell: two decimals if there is room, else one, else none, else an
/// exponent; right-aligned.
std::string fitted(double value, int width);

/// Version, name of the test, options, ranks. Of the report only what is known before the first
/// row is used.
std::string text_preamble(const BenchReport& report, std::string_view operation);

/// The three lines above the rows.
std::string text_header(const BenchOptions& options);

std::string text_row(const BenchRow& row, const BenchOptions& options);

/// The lines below the rows of one operation.
std::string text_footer(const BenchSummary& summary, std::string_view operation);

/// Lines for --fit, --pairs and --expect, each beginning with '#'; empty when there are none.
std::string text_additions(const BenchReport& report);

}  // namespace muster::runtime
