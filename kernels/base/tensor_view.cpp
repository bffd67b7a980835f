#include "kernels/base/tensor_view.hpp"

#include <fmt/format.h>

namespace muster {

std::string to_string(ConstTensorView view) {
  const std::string shape = fmt::format("{}[{}, {}]", to_string(view.dtype), view.rows, view.cols);
  return view.is_contiguous() ? shape : fmt::format("{}/{}", shape, view.stride);
}

}  // namespace muster
