#pragma once

#include <cstdint>
#include <vector>

#include "kernels/base/tensor_view.hpp"

namespace muster::test {

/// A view [n] of the vector's values.
inline TensorView view_of(std::vector<float>& data) {
  return vector_view(data.data(), static_cast<std::int64_t>(data.size()));
}

}  // namespace muster::test
