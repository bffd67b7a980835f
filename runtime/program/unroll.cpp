#include "runtime/program/unroll.hpp"

#include <set>
#include <string>
#include <utility>

#include "kernels/base/error.hpp"
#include "runtime/program/op_kind.hpp"

namespace muster::runtime {
namespace {

/// Copies segments into one list, renaming their values.
class Unroller {
 public:
  Unroller(const Registry& registry, StepForm form) : registry_(registry), form_(form) {}

  /// One run of a segment: its values' numbers in the unrolled list.
  using Numbers = std::vector<ValueId>;

  /// Adds the values of layer `layer` of a segment. `input` and `output_gradient` are the values of
  /// its neighbours that take the place of its own (kNone: none).
  Numbers add_values(const Segment& segment, std::int64_t layer, ValueId input) {
    Numbers numbers(segment.list.values.size(), kNone);
    if (segment.input != kNone) numbers[static_cast<std::size_t>(segment.input)] = input;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      if (numbers[i] != kNone) continue;
      Value value = segment.list.values[i];
      if (value.base != kNone) value.base = numbers[static_cast<std::size_t>(value.base)];
      if (value.origin == Origin::parameter || value.origin == Origin::gradient) {
        value.index = parameter_number(segment, value.index, layer);
      }
      numbers[i] = list_.add_value(std::move(value));
    }
    return numbers;
  }

  void add_ops(const std::vector<Op>& ops, const Numbers& numbers) {
    for (Op op : ops) {
      for (ValueId& id : op.inputs) id = renamed(id, numbers);
      for (ValueId& id : op.outputs) id = renamed(id, numbers);
      mark_accumulation(op);
      list_.ops.push_back(std::move(op));
    }
  }

  List take() { return std::move(list_); }

 private:
  static ValueId renamed(ValueId id, const Numbers& numbers) {
    return id == kNone ? kNone : numbers[static_cast<std::size_t>(id)];
  }

  std::int32_t parameter_number(const Segment& segment, std::int32_t slot,
                                std::int64_t layer) const {
    std::string name = segment.parameters[static_cast<std::size_t>(slot)].parameter.name;
    const std::size_t place = name.find("{}");
    if (place != std::string::npos) name.replace(place, 2, std::to_string(layer));
    const int number = registry_.find(name);
    MUSTER_ASSERT(number >= 0);
    return number;
  }

  /// The first writer of the step overwrites, every later one adds.
  void mark_accumulation(Op& op) {
    const int index = op.kind->accumulated_output();
    if (index < 0 || op.outputs[static_cast<std::size_t>(index)] == kNone) return;
    const Value& value = list_.value(op.outputs[static_cast<std::size_t>(index)]);
    const bool is_first = written_.insert({value.origin, value.index}).second;
    op.attributes.set("accumulate", form_.adds || !is_first ? 1.0 : 0.0);
  }

  const Registry& registry_;
  StepForm form_;
  List list_;
  std::set<std::pair<Origin, std::int32_t>> written_;
};

ValueId number_of(const Unroller::Numbers& numbers, ValueId id) {
  return numbers[static_cast<std::size_t>(id)];
}

}  // namespace

List unroll(const Model& model, const Registry& registry, StepForm form) {
  Unroller unroller(registry, form);
  const auto stem = unroller.add_values(model.stem, 0, kNone);
  ValueId carried = number_of(stem, model.stem.output);
  std::vector<Unroller::Numbers> blocks;
  for (std::int64_t layer = 0; layer < model.block.count; ++layer) {
    blocks.push_back(unroller.add_values(model.block, layer, carried));
    carried = number_of(blocks.back(), model.block.output);
  }
  auto head = unroller.add_values(model.head, 0, carried);

  unroller.add_ops(model.stem.list.ops, stem);
  for (const auto& block : blocks) unroller.add_ops(model.block.list.ops, block);
  unroller.add_ops(model.head.list.ops, head);
  if (model.head.backward.empty()) return unroller.take();

  unroller.add_ops(model.head.backward, head);
  ValueId gradient = number_of(head, model.head.input_gradient);
  for (auto block = blocks.rbegin(); block != blocks.rend(); ++block) {
    (*block)[static_cast<std::size_t>(model.block.output_gradient)] = gradient;
    unroller.add_ops(model.block.backward, *block);
    gradient = number_of(*block, model.block.input_gradient);
  }
  auto stem_backward = stem;
  stem_backward[static_cast<std::size_t>(model.stem.output_gradient)] = gradient;
  unroller.add_ops(model.stem.backward, stem_backward);
  return unroller.take();
}

std::vector<OpSource> op_sources(const Model& model) {
  std::vector<OpSource> sources;
  const auto append = [&](const Segment& segment, std::size_t ops, std::int64_t layer) {
    sources.insert(sources.end(), ops, OpSource{segment.name, layer});
  };
  append(model.stem, model.stem.list.ops.size(), 0);
  for (std::int64_t layer = 0; layer < model.block.count; ++layer) {
    append(model.block, model.block.list.ops.size(), layer);
  }
  append(model.head, model.head.list.ops.size(), 0);
  if (model.head.backward.empty()) return sources;
  append(model.head, model.head.backward.size(), 0);
  for (std::int64_t layer = model.block.count - 1; layer >= 0; --layer) {
    append(model.block, model.block.backward.size(), layer);
  }
  append(model.stem, model.stem.backward.size(), 0);
  return sources;
}

}  // namespace muster::runtime
