#pragma once

#include "runtime/world/environment.hpp"

namespace muster::runtime {

/// The bandwidth in GB/s that NCCL_TESTS_MIN_BW demands, -1 where it is not set. Error(config) when
/// it is no number; Error(unsupported) where another variable of nccl-tests is set that would
/// change what is measured there and is not followed here.
double least_bandwidth_of(const Environment& environment);

}  // namespace muster::runtime
