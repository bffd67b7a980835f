#pragma once

#include "kernels/base/tensor_view.hpp"

namespace muster::collectives {

/// Turns sums over `ranks` ranks into averages, in place: in f64, f32 (the 16-bit floats too) or by
/// whole numbers, rounded towards zero. `sums` is contiguous.
void divide(TensorView sums, int ranks);

}  // namespace muster::collectives
