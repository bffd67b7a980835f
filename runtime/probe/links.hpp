#pragma once

#include "collectives/communicator.hpp"
#include "runtime/program/price.hpp"

namespace muster::runtime {

/// Measures all_reduce (f32, sum) on the group's own memory from 8 B to `largest` bytes, doubling
/// by 8: per size the minimum of repeats, then the slowest rank's. Sizes above 256 KiB that would
/// take more than the budget allows are left to the fit. The fit: alpha is the time of 8 B, beta
/// the slope between the two largest sizes measured. Collective over the group; budget in seconds
/// for all sizes.
LinkProfile measure_links(collectives::Communicator& group, double largest, double budget_s);

}  // namespace muster::runtime
