#pragma once

#include <cstdint>

#include "runtime/config/findings.hpp"
#include "runtime/config/job.hpp"

namespace muster::runtime {

/// Adds every rule that `job` breaks and that concerns more than one key: missing keys, keys that
/// exclude each other, sizes that do not divide, totals beyond a limit. Keys that already have a
/// mistake of their own are not judged again.
void check_relations(const JobConfig& job, Findings& findings);

/// How many of the last of `steps` steps the learning rate decays in: those after the warm-up for
/// cosine and for linear without a ratio, none for constant.
std::int64_t decay_steps(const LrSchedulerSection& schedule, std::int64_t steps);

}  // namespace muster::runtime
