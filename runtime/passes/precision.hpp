#pragma once

#include "runtime/program/model.hpp"

namespace muster::runtime {

/// Gives every activation and every parameter's compute copy the dtype `compute`. Values that keep
/// their dtype (statistics, losses, indices, tables) stay as they are. Run it before
/// differentiate(): gradients of activations take the dtype of their value, those of parameters are
/// f32.
void apply_precision(Model& model, Dtype compute);

}  // namespace muster::runtime
