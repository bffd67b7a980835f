#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/base/dtype.hpp"

namespace muster::runtime {

/// A flat range of one logical tensor's state that a rank hands to a checkpoint: elements
/// [begin, begin + count) of the tensor of `shape` in row-major order. `data` is read, not kept.
struct Chunk {
  std::string name;   // fully qualified, Hugging Face's
  std::string state;  // "param", "m", "v"
  Dtype dtype = Dtype::f32;
  std::vector<std::int64_t> shape;  // of the whole tensor
  std::int64_t begin = 0;
  std::int64_t count = 0;
  const std::byte* data = nullptr;
};

}  // namespace muster::runtime
