#include "runtime/passes/zero.hpp"

#include <cstddef>
#include <string>
#include <vector>

#include "runtime/program/op_kind.hpp"
#include "runtime/program/update.hpp"

namespace muster::runtime {
namespace {

/// Per unit, the number of the last op that writes a gradient of it; -1 if none does.
std::vector<std::ptrdiff_t> last_writers(const List& list, const Registry& registry) {
  std::vector<std::ptrdiff_t> last(registry.units().size(), -1);
  for (std::size_t i = 0; i < list.ops.size(); ++i) {
    for (const ValueId id : list.ops[i].outputs) {
      if (id == kNone || list.value(id).origin != Origin::gradient) continue;
      const int unit = registry.parameter(list.value(id).index).unit;
      last[static_cast<std::size_t>(unit)] = static_cast<std::ptrdiff_t>(i);
    }
  }
  return last;
}

void emit_reduce(List& list, const Registry& registry, int unit) {
  for (const int parameter : registry.units()[static_cast<std::size_t>(unit)].parameters) {
    emit_norm(list, registry, parameter, StateField::own_norms);
  }
  const ValueId gradients = unit_value(list, registry, unit);
  emit(list, "all_reduce", {gradients}, {gradients});
}

}  // namespace

void reduce_gradients(List& list, const Registry& registry, int data_degree) {
  if (data_degree == 1) return;
  const auto last = last_writers(list, registry);
  std::vector<Op> ops;
  ops.swap(list.ops);
  for (std::size_t i = 0; i < ops.size(); ++i) {
    list.ops.push_back(ops[i]);
    for (std::size_t unit = 0; unit < last.size(); ++unit) {
      if (last[unit] == static_cast<std::ptrdiff_t>(i)) {
        emit_reduce(list, registry, static_cast<int>(unit));
      }
    }
  }
}

}  // namespace muster::runtime
