#pragma once

#include "kernels/base/tensor_view.hpp"

namespace muster::collectives {

/// data /= n, element by element: 16-bit floats in f32, rounded once; integers towards zero.
void divide(TensorView data, int n);

}  // namespace muster::collectives
