#include "runtime/program/parameter_store.hpp"

#include <cstddef>
#include <utility>

#include <fmt/format.h>

#include "kernels/base/error.hpp"

namespace muster::runtime {
namespace {

std::size_t bytes_of(std::int64_t elements, Dtype dtype) {
  return static_cast<std::size_t>(elements) * size_of(dtype);
}

}  // namespace

ParameterStore::ParameterStore(const Registry& registry, const StoreOptions& options,
                               MemorySource& device, MemorySource& shared)
    : registry_(registry), options_(options) {
  for (const Unit& unit : registry.units()) {
    const auto take = [&](MemorySource& source, Dtype dtype, const char* what) {
      Memory taken =
          source.allocate(bytes_of(unit.elements, dtype), fmt::format("{} of {}", what, unit.name));
      taken.touch();
      return taken;
    };
    UnitMemory memory;
    memory.master = take(device, Dtype::f32, "master weights");
    if (!shares_master()) memory.compute = take(shared, options.compute, "weights");
    if (options.is_training) {
      memory.gradient = take(shared, Dtype::f32, "gradients");
      memory.moment1 = take(device, Dtype::f32, "first moments");
      memory.moment2 = take(device, Dtype::f32, "second moments");
    }
    units_.push_back(std::move(memory));
  }
}

TensorView ParameterStore::view(Origin origin, int index) const {
  const Parameter& parameter = registry_.parameter(index);
  const UnitMemory& unit = units_[static_cast<std::size_t>(parameter.unit)];
  const bool is_compute = origin == Origin::parameter && !shares_master();
  const Dtype dtype = is_compute ? options_.compute : Dtype::f32;
  const auto part = [&](const Memory& memory) -> TensorView {
    if (memory.data() == nullptr) return {};
    return {memory.data() + bytes_of(parameter.begin, dtype), dtype, parameter.rows,
            parameter.cols};
  };
  switch (origin) {
    case Origin::parameter: return part(shares_master() ? unit.master : unit.compute);
    case Origin::master: return part(unit.master);
    case Origin::gradient: return part(unit.gradient);
    case Origin::moment1: return part(unit.moment1);
    case Origin::moment2: return part(unit.moment2);
    default: throw Error(ErrorCode::internal, "this origin holds no parameter");
  }
}

TensorView ParameterStore::unit_gradients(int index) const {
  const Memory& gradient = units_[static_cast<std::size_t>(index)].gradient;
  return {gradient.data(), Dtype::f32, 1,
          registry_.units()[static_cast<std::size_t>(index)].elements};
}

std::int64_t ParameterStore::bytes(const Registry& registry, const StoreOptions& options) {
  std::int64_t per_element = 4;
  if (options.compute != Dtype::f32) {
    per_element += static_cast<std::int64_t>(size_of(options.compute));
  }
  if (options.is_training) per_element += 12;
  return registry.padded_elements() * per_element;
}

}  // namespace muster::runtime
