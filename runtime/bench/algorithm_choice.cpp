#include "runtime/bench/algorithm_choice.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "collectives/backends.hpp"
#include "kernels/base/error.hpp"
#include "runtime/bench/operations.hpp"
#include "runtime/config/names.hpp"

namespace muster::runtime {
namespace {

using collectives::AlgorithmTable;

/// "all_reduce has auto, direct, …; broadcast has auto, …".
std::string existing(const BenchOptions& options) {
  std::string text;
  for (const std::string& name : options.operations) {
    text += fmt::format("{}{} has auto, {}", text.empty() ? "" : "; ", name,
                        fmt::join(collectives::algorithm_names(find_operation(name).kind), ", "));
  }
  return text;
}

void check_names(const BenchOptions& options) {
  const auto unknown = AlgorithmTable::find_unknown(options.algorithm);
  if (!unknown) return;
  const std::vector<std::string> known(unknown->known.begin(), unknown->known.end());
  const std::string near = nearest(unknown->word, known);
  throw Error(ErrorCode::config,
              fmt::format("--algo {}: {}{}", quote(options.algorithm), unknown->describe(),
                          near.empty() ? "" : fmt::format("; did you mean {}?", near)));
}

}  // namespace

void check_algorithms(const BenchOptions& options, std::string_view backend) {
  if (options.algorithm.empty()) return;
  check_names(options);
  if (backend != "auto" && !collectives::has_algorithms(backend)) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("--algo {}: the back end {} has no choice of algorithms; {} have: {}",
                            quote(options.algorithm), backend,
                            fmt::join(collectives::backends_with_algorithms(), " and "),
                            existing(options)));
  }
  AlgorithmTable table;
  table.use(options.algorithm);
  const bool is_for_others = table != AlgorithmTable() &&
                             std::ranges::none_of(options.operations, [&](const std::string& name) {
                               return !table.named(find_operation(name).kind).empty();
                             });
  if (!is_for_others) return;
  throw Error(ErrorCode::config, fmt::format("--algo {} names nothing for what is measured; {}",
                                             quote(options.algorithm), existing(options)));
}

AlgorithmTable bench_algorithms(const BenchOptions& options,
                                const std::optional<std::string>& environment) {
  AlgorithmTable table;
  table.use(options.algorithm);
  if (!environment) return table;
  AlgorithmTable wished;
  if (const auto unknown = AlgorithmTable::find_unknown(*environment)) {
    throw Error(ErrorCode::config,
                fmt::format("MUSTER_ALGO = {}: {}", quote(*environment), unknown->describe()));
  }
  wished.use(*environment);
  if (!options.algorithm.empty() && wished != table) {
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format("--algo {} and MUSTER_ALGO = {} contradict each other; give one of them",
                    quote(options.algorithm), quote(*environment)));
  }
  return wished;
}

}  // namespace muster::runtime
