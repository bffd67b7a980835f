#pragma once

#include <span>
#include <string>

#include "launcher/options.hpp"

namespace muster::launcher {

/// `muster bench OP`: starts the ranks on this host and watches them, or becomes a rank where
/// another launcher has already made this process one. `arguments`: the command line, which the
/// ranks get as it is. Returns the benchmark's exit code. Errors, before any rank is started, as
/// runtime::bench_exit_code_of() ranks them.
int run_bench_command(const BenchCommand& command, std::span<const std::string> arguments);

/// `muster bench compare`: prints the table. Returns 0, or kBenchExitRegression.
int run_compare_command(const CompareCommand& command);

}  // namespace muster::launcher
