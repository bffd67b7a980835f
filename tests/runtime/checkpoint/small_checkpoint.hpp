#pragma once

#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "runtime/checkpoint/writer.hpp"

namespace muster::runtime {

struct Tensor {
  std::string name;
  std::string state;
  std::vector<std::int64_t> shape;
  std::vector<float> values;
};

/// A few tensors of awkward sizes; element i of the t-th is 100 t + i.
inline const std::vector<Tensor>& small_tensors() {
  static const std::vector<Tensor> tensors = [] {
    std::vector<Tensor> all = {{"a", "param", {3, 5}, std::vector<float>(15)},
                               {"a", "m", {3, 5}, std::vector<float>(15)},
                               {"long.name", "param", {7}, std::vector<float>(7)},
                               {"none", "param", {0, 4}, {}},
                               {"scalar", "v", {}, std::vector<float>(1)}};
    float first = 0;
    for (Tensor& tensor : all) {
      std::iota(tensor.values.begin(), tensor.values.end(), first);
      first += 100;
    }
    return all;
  }();
  return tensors;
}

/// Rank `rank`'s even part of every tensor; the tensor without elements is rank 0's.
inline std::vector<Chunk> chunks_of(int rank, int world) {
  std::vector<Chunk> chunks;
  for (const Tensor& tensor : small_tensors()) {
    const std::int64_t count = std::ssize(tensor.values);
    const std::int64_t begin = rank * count / world;
    const std::int64_t end = (rank + 1) * count / world;
    const bool is_mine = begin < end || (count == 0 && rank == 0);
    if (!is_mine) continue;
    chunks.push_back({tensor.name, tensor.state, Dtype::f32, tensor.shape, begin, end - begin,
                      reinterpret_cast<const std::byte*>(tensor.values.data() + begin)});
  }
  return chunks;
}

/// Writes a complete checkpoint, one rank after the other.
inline void write_checkpoint(const std::string& output_dir, std::int64_t step, int world,
                             TrainerState state = {}) {
  if (state.step == 0) state.step = step;
  CheckpointWriter first(output_dir, step, 0, world);
  first.write_shard(chunks_of(0, world));
  for (int rank = 1; rank < world; ++rank) {
    CheckpointWriter(output_dir, step, rank, world).write_shard(chunks_of(rank, world));
  }
  first.finish(state);
}

}  // namespace muster::runtime
