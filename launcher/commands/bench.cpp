#include "launcher/commands/bench.hpp"

#include <cstdio>

#include <fmt/format.h>

#include "kernels/base/error.hpp"
#include "launcher/local_job.hpp"
#include "launcher/rank_program.hpp"
#include "runtime/bench/bench_environment.hpp"
#include "runtime/bench/compare.hpp"
#include "runtime/bench/exit_codes.hpp"
#include "runtime/world/identity.hpp"

namespace muster::launcher {

int run_bench_command(const BenchCommand& command, std::span<const std::string> arguments) {
  const runtime::Environment environment = runtime::Environment::current();
  const runtime::Identity identity = runtime::read_identity(environment);
  static_cast<void>(runtime::least_bandwidth_of(environment));  // its errors come once, from here
  const int ranks = identity.is_single() ? command.ranks.value_or(1) : identity.size;
  runtime::check_bench_options(command.options, ranks);
  if (!identity.is_single()) {
    if (command.ranks.value_or(ranks) != ranks) {
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("--ranks {}, but {} has started {} ranks; leave it out",
                              *command.ranks, identity.origin, ranks));
    }
    become_rank_program(arguments);
  }
  return run_local_job({.ranks = ranks, .is_resumable = false}, arguments);
}

int run_compare_command(const CompareCommand& command) {
  const runtime::Comparison comparison = runtime::compare_files(command.before, command.after);
  fmt::print("{}\n", runtime::comparison_text(comparison));
  if (std::fflush(stdout) != 0) throw Error(ErrorCode::io, "cannot write to standard output");
  return comparison.is_regression ? runtime::kBenchExitRegression : 0;
}

}  // namespace muster::launcher
