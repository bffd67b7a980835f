#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "runtime/program/executor.hpp"
#include "runtime/program/price.hpp"

namespace muster::runtime {

/// Times the ops of a bound list where they stand, so that caches are as warm as they will be, and
/// writes the seconds of each kind and shape into profile.op_seconds: the mean, not the minimum,
/// since what else the machine does will slow the steps as well. `is_chosen(i)` says whether op i
/// takes part: of many equal blocks a few are enough. Ops whose key is in the profile
/// already are left out. Also records, per dtype, the best matmul rate
/// seen. Repeats until the budget is spent, at least once after a first run that warms up.
void measure_ops(const List& list, const BoundList& bound,
                 const std::function<bool(std::size_t)>& is_chosen, double budget_s,
                 DeviceProfile& profile);

/// Bytes per second, read and written, of adding two arrays of `bytes` each.
double measure_memory(kernels::Device& device, std::size_t bytes);

}  // namespace muster::runtime
