#pragma once

#include <string>

#include "runtime/bench/bench_options.hpp"
#include "runtime/control/reporter.hpp"
#include "runtime/world/world.hpp"

namespace muster::runtime {

/// Runs a benchmark on this rank, rank 0 reporting and writing the files. Collective over the
/// world. `version`: what the reports call this program. Returns 0, kBenchExitWrong, or 75 when it
/// was asked to stop. Errors as bench_exit_code_of() ranks them; those of options come before
/// anything is measured.
int run_bench(World& world, const BenchOptions& options, const std::string& version,
              Reporter& reporter, const StopFlag& stop);

}  // namespace muster::runtime
