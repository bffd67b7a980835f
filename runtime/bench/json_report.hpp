#pragma once

#include <string>

#include "runtime/bench/report.hpp"

namespace muster::runtime {

/// The report in the JSON of nccl-tests, version 3: the same keys with the same types, booleans as
/// the strings "true" and "false", and what is muster's own below "muster" keys: at the top
/// {version, backend, averaging, pairs{latency_us[][], bandwidth_gbs[][], findings[]},
/// fits[{operation, type, alpha_us, alpha_error_us, beta_ns_per_kib, beta_error_ns_per_kib,
/// residual_percent, points}]}, in a row {out_of_place_samples_us[], in_place_samples_us[],
/// expected_us, reached_percent}. `env` holds only the variables of the report.
std::string json_report(const BenchReport& report);

}  // namespace muster::runtime
