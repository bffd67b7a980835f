#include "runtime/program/model.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "kernels/base/error.hpp"

namespace muster::runtime {
namespace {

std::string with_layer(const std::string& name, std::int64_t layer) {
  const std::size_t place = name.find("{}");
  if (place == std::string::npos) return name;
  return name.substr(0, place) + std::to_string(layer) + name.substr(place + 2);
}

Parameter instance(const Parameter& spec, std::int64_t layer,
                   const std::vector<std::string>& no_decay) {
  Parameter parameter = spec;
  parameter.name = with_layer(spec.name, layer);
  for (LogicalTensor& tensor : parameter.tensors) tensor.name = with_layer(tensor.name, layer);
  parameter.decays = std::none_of(no_decay.begin(), no_decay.end(), [&](const std::string& part) {
    return parameter.name.find(part) != std::string::npos;
  });
  return parameter;
}

void add_segment(Registry& registry, const Segment& segment,
                 const std::vector<std::string>& no_decay) {
  for (std::int64_t layer = 0; layer < segment.count; ++layer) {
    bool has_unit = false;
    for (const ParameterSpec& spec : segment.parameters) {
      if (spec.is_tied) continue;
      if (!has_unit) {
        registry.begin_unit(segment.count == 1 ? segment.name
                                               : fmt::format("{} {}", segment.name, layer));
        has_unit = true;
      }
      registry.add(instance(spec.parameter, layer, no_decay));
    }
  }
}

}  // namespace

ValueId Segment::add_parameter(ParameterSpec spec) {
  const Parameter& parameter = spec.parameter;
  const ValueId id = list.add_value({.name = parameter.name,
                                     .rows = parameter.rows,
                                     .cols = parameter.cols,
                                     .origin = Origin::parameter,
                                     .index = static_cast<std::int32_t>(parameters.size())});
  parameters.push_back(std::move(spec));
  return id;
}

ValueId frame_value(List& list, FrameField field, std::int64_t tokens) {
  static constexpr std::array<const char*, kFrameFields> kNames{"tokens", "targets", "positions",
                                                                "bounds", "loss_seed"};
  const bool is_seed = field == FrameField::loss_seed;
  return list.add_value({.name = kNames[static_cast<std::size_t>(field)],
                         .rows = 1,
                         .cols = is_seed ? 1 : tokens,
                         .dtype = is_seed ? Dtype::f32 : Dtype::i32,
                         .origin = Origin::frame,
                         .index = static_cast<std::int32_t>(field),
                         .keeps_dtype = true});
}

ValueId constant_value(List& list, const Model& model, int index) {
  const Constant& constant = model.constants[static_cast<std::size_t>(index)];
  return list.add_value({.name = constant.name,
                         .rows = constant.rows,
                         .cols = constant.cols,
                         .origin = Origin::constant,
                         .index = index,
                         .keeps_dtype = true});
}

Registry make_registry(const Model& model, const std::vector<std::string>& no_decay) {
  Registry registry;
  for (const Segment* segment : {&model.stem, &model.block, &model.head}) {
    for (const ParameterSpec& spec : segment->parameters) {
      if (!spec.is_tied || registry.find(spec.parameter.name) >= 0) continue;
      registry.begin_unit("tied");
      registry.add(instance(spec.parameter, 0, no_decay));
    }
    add_segment(registry, *segment, no_decay);
  }
  return registry;
}

}  // namespace muster::runtime
