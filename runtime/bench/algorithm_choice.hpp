#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "collectives/select.hpp"
#include "runtime/bench/bench_options.hpp"

namespace muster::runtime {

/// Refuses an --algo that cannot be followed; nothing without one. Error(config): it names what
/// does not exist, with the nearest, or nothing for the operation that is measured.
/// Error(invalid_argument): `backend`, a name or "auto", has no choice; the text says which back
/// ends have and what they have for the operation.
void check_algorithms(const BenchOptions& options, std::string_view backend);

/// The table of a benchmark over a back end that has a choice: what --algo says, or
/// `environment`, the value of MUSTER_ALGO. Error(config) when that names what does not exist;
/// Error(invalid_argument) when both are given and differ.
collectives::AlgorithmTable bench_algorithms(const BenchOptions& options,
                                             const std::optional<std::string>& environment);

}  // namespace muster::runtime
