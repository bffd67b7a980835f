#pragma once

#include "runtime/program/list.hpp"
#include "runtime/program/registry.hpp"

namespace muster::runtime {

/// ZeRO stage 0, plain data parallelism: every rank holds everything, and each unit's gradients are
/// summed over the data group right after the last op that adds to them. Before that the unit's own
/// norms are taken, so that a rank whose gradients are not finite can be named.
///
/// `list` is the unrolled list of the last micro-batch of a step. `data_degree` 1 changes nothing.
void reduce_gradients(List& list, const Registry& registry, int data_degree);

}  // namespace muster::runtime
