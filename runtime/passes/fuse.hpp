#pragma once

#include "runtime/program/model.hpp"

namespace muster::runtime {

/// Joins an add and the rms_norm that follows it into one op, which reads and writes the residual
/// stream once instead of twice. Run it before differentiate(): the joint op has its own backward.
void fuse_residual_norms(Model& model);

}  // namespace muster::runtime
