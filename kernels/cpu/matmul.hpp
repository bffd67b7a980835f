#pragma once

#include "kernels/ops/matmul.hpp"

namespace muster::kernels::cpu {

/// The matmul kernel of a CpuDevice. What its matrix library does not take (f16 always, bf16 on a
/// processor without bf16 instructions) is converted to f32 in scratch memory, multiplied there,
/// and rounded once: scratch is 4 bytes per element of a and b, and of c if that is not f32.
void matmul(Device& device, const MatmulArgs& args);

}  // namespace muster::kernels::cpu
