#pragma once

#include "kernels/device/device.hpp"
#include "runtime/program/parameter_store.hpp"

namespace muster::runtime {

/// Rounds every master weight into its compute copy; nothing to do where they are the same.
void round_masters(const ParameterStore& store, const Registry& registry, kernels::Device& device);

}  // namespace muster::runtime
