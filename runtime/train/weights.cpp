#include "runtime/train/weights.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "kernels/base/error.hpp"
#include "kernels/base/random.hpp"

namespace muster::runtime {
namespace {

struct State {
  std::string_view name;
  Origin origin;
};

constexpr std::array kStates{State{"param", Origin::master}, State{"m", Origin::moment1},
                             State{"v", Origin::moment2}};

/// FNV-1a: the same number on every machine, unlike std::hash.
std::uint64_t hash_name(std::string_view name) {
  std::uint64_t hash = 0xCBF29CE484222325ULL;
  for (const char letter : name) {
    hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001B3ULL;
  }
  return hash;
}

/// Calls `body(tensor, elements)` for every logical tensor of the store's content `origin`.
void for_each_tensor(
    const ParameterStore& store, const Registry& registry, Origin origin,
    const std::function<void(const Parameter&, const LogicalTensor&, float*)>& body) {
  for (std::size_t i = 0; i < registry.parameters().size(); ++i) {
    const TensorView view = store.view(origin, static_cast<int>(i));
    if (view.is_none()) continue;
    const Parameter& parameter = registry.parameters()[i];
    for (const LogicalTensor& tensor : parameter.tensors) {
      body(parameter, tensor, view.row<float>(0) + tensor.begin);
    }
  }
}

void fill_normal(float* data, std::int64_t count, std::uint64_t key, float std) {
  for (std::int64_t i = 0; i < count; ++i) {
    data[i] = std * normal(key, static_cast<std::uint64_t>(i));
  }
}

}  // namespace

void initialise(const ParameterStore& store, const Registry& registry, std::uint64_t seed) {
  for_each_tensor(store, registry, Origin::master,
                  [&](const Parameter& parameter, const LogicalTensor& tensor, float* data) {
                    const std::int64_t count = tensor.count();
                    switch (parameter.init) {
                      case Init::normal:
                        fill_normal(data, count, mix(seed, hash_name(tensor.name)),
                                    parameter.init_std);
                        break;
                      case Init::ones: std::fill_n(data, count, 1.0F); break;
                      case Init::zeros: std::fill_n(data, count, 0.0F); break;
                    }
                  });
  for (const Origin moment : {Origin::moment1, Origin::moment2}) {
    for_each_tensor(store, registry, moment,
                    [](const Parameter&, const LogicalTensor& tensor, float* data) {
                      std::fill_n(data, tensor.count(), 0.0F);
                    });
  }
}

void load_pretrained(const ParameterStore& store, const Registry& registry,
                     const HfWeights& weights) {
  for_each_tensor(
      store, registry, Origin::master,
      [&](const Parameter&, const LogicalTensor& tensor, float* data) {
        const auto& shape = weights.shape(tensor.name);
        if (shape != tensor.shape) {
          throw Error(ErrorCode::config,
                      fmt::format("tensor \"{}\" has shape [{}], the model needs [{}]", tensor.name,
                                  fmt::join(shape, ", "), fmt::join(tensor.shape, ", ")));
        }
        weights.read(tensor.name, 0, tensor.count(), Dtype::f32, data);
      });
}

void load_checkpoint(const ParameterStore& store, const Registry& registry,
                     const CheckpointReader& reader) {
  for (const State& state : kStates) {
    for_each_tensor(store, registry, state.origin,
                    [&](const Parameter&, const LogicalTensor& tensor, float* data) {
                      reader.read(tensor.name, state.name, 0, tensor.count(), Dtype::f32, data);
                    });
  }
}

std::vector<Chunk> chunks_to_write(const ParameterStore& store, const Registry& registry, int rank,
                                   int world) {
  const double total = static_cast<double>(registry.elements());
  std::vector<Chunk> chunks;
  for (const State& state : kStates) {
    std::int64_t before = 0;
    for_each_tensor(store, registry, state.origin,
                    [&](const Parameter&, const LogicalTensor& tensor, const float* data) {
                      const int owner =
                          static_cast<int>(static_cast<double>(before) / total * world);
                      before += tensor.count();
                      if (owner != rank) return;
                      chunks.push_back({.name = tensor.name,
                                        .state = std::string(state.name),
                                        .dtype = Dtype::f32,
                                        .shape = tensor.shape,
                                        .begin = 0,
                                        .count = tensor.count(),
                                        .data = reinterpret_cast<const std::byte*>(data)});
                    });
  }
  return chunks;
}

}  // namespace muster::runtime
