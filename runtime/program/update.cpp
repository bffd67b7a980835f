#include "runtime/program/update.hpp"

#include <string>

#include "runtime/program/op_kind.hpp"

namespace muster::runtime {
namespace {

ValueId parameter_value(List& list, const Registry& registry, int index, Origin origin) {
  const Parameter& parameter = registry.parameter(index);
  return list.add_value({.name = parameter.name,
                         .rows = 1,
                         .cols = parameter.count(),
                         .origin = origin,
                         .index = index,
                         .keeps_dtype = true});
}

}  // namespace

ValueId unit_value(List& list, const Registry& registry, int unit) {
  const Unit& described = registry.units()[static_cast<std::size_t>(unit)];
  return list.add_value({.name = "gradients of " + described.name,
                         .rows = 1,
                         .cols = described.elements,
                         .origin = Origin::unit,
                         .index = unit,
                         .keeps_dtype = true});
}

void emit_norm(List& list, const Registry& registry, int parameter, StateField field) {
  const ValueId norms =
      list.add_value({.name = "norms",
                      .rows = static_cast<std::int64_t>(registry.parameters().size()),
                      .cols = 2,
                      .dtype = Dtype::f64,
                      .origin = Origin::state,
                      .index = static_cast<std::int32_t>(field),
                      .keeps_dtype = true});
  const ValueId row = list.row_view(norms, "norm", parameter, 1);
  emit(list, "norm_squared", {parameter_value(list, registry, parameter, Origin::gradient)}, {row});
}

List norm_list(const Registry& registry) {
  List list;
  for (std::size_t i = 0; i < registry.parameters().size(); ++i) {
    if (!registry.parameters()[i].is_trainable) continue;
    emit_norm(list, registry, static_cast<int>(i), StateField::norms);
  }
  return list;
}

List update_list(const Registry& registry, const AdamwConstants& constants, Dtype compute) {
  List list;
  for (std::size_t i = 0; i < registry.parameters().size(); ++i) {
    const int index = static_cast<int>(i);
    const Parameter& parameter = registry.parameter(index);
    if (!parameter.is_trainable) continue;
    const ValueId gradient = parameter_value(list, registry, index, Origin::gradient);
    const ValueId master = parameter_value(list, registry, index, Origin::master);
    const ValueId m = parameter_value(list, registry, index, Origin::moment1);
    const ValueId v = parameter_value(list, registry, index, Origin::moment2);
    ValueId copy = kNone;
    if (compute != Dtype::f32) {
      copy = parameter_value(list, registry, index, Origin::parameter);
      list.value(copy).dtype = compute;
    }
    emit(list, "adamw", {gradient}, {master, m, v, copy},
         {{"beta1", constants.beta1},
          {"beta2", constants.beta2},
          {"eps", constants.eps},
          {"weight_decay", parameter.decays ? constants.weight_decay : 0.0}});
  }
  return list;
}

}  // namespace muster::runtime
