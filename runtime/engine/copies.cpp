#include "runtime/engine/copies.hpp"

#include <cstddef>

#include "kernels/ops/elementwise.hpp"

namespace muster::runtime {

void round_masters(const ParameterStore& store, const Registry& registry, kernels::Device& device) {
  if (store.shares_master()) return;
  for (std::size_t i = 0; i < registry.parameters().size(); ++i) {
    const int index = static_cast<int>(i);
    kernels::cast(device, {.y = store.view(Origin::parameter, index),
                           .x = store.view(Origin::master, index)});
  }
}

}  // namespace muster::runtime
