#include "runtime/bench/bench_options.hpp"

#include <fmt/format.h>

#include "kernels/base/error.hpp"
#include "runtime/bench/algorithm_choice.hpp"

namespace muster::runtime {
namespace {

[[noreturn]] void refuse(const std::string& reason) {
  throw Error(ErrorCode::invalid_argument, reason);
}

}  // namespace

void check_bench_options(const BenchOptions& options, int ranks) {
  static_cast<void>(sizes_of(options.sizes));
  if (options.root >= ranks) {
    refuse(fmt::format("-r {}: there are ranks 0 to {}", options.root, ranks - 1));
  }
  if (options.run_cycles == 0 && options.operations.size() > 1) {
    refuse("-N 0 never comes to the second of several benchmarks; name one");
  }
  if (options.per_iteration_skip > 0 && !options.keeps_iterations()) {
    refuse("-K leaves out iterations that only -I 1 or --percentiles show");
  }
  if (options.per_iteration_skip >= options.iterations) {
    refuse(fmt::format("-K {} leaves none of {} iterations (-n)", options.per_iteration_skip,
                       options.iterations));
  }
  const bool needs_pairs = options.pairs || options.expect;
  if (needs_pairs && ranks < 2) {
    refuse(fmt::format("{} needs two ranks or more: --ranks 2",
                       options.pairs ? "--pairs" : "--expect"));
  }
  if (options.fit && sizes_of(options.sizes).size() < 3) {
    refuse("--fit needs three sizes or more: -b 8 -e 1M -f 2");
  }
  check_algorithms(options, options.backend);
  if (options.format == TextFormat::osu && (options.per_iteration || options.timestamps)) {
    refuse("--format osu has no columns for -I and -S");
  }
}

}  // namespace muster::runtime
