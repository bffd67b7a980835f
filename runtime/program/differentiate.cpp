#include "runtime/program/differentiate.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "kernels/base/error.hpp"
#include "runtime/program/op_kind.hpp"

namespace muster::runtime {

ValueId Differentiator::base_gradient(ValueId base) {
  const auto known = view_gradients_.find(base);
  if (known != view_gradients_.end()) return known->second;
  const Value& value = list_.value(base);
  const ValueId gradient =
      list_.computed(fmt::format("d_{}", value.name), value.rows, value.cols, value.dtype);
  view_gradients_.emplace(base, gradient);
  gradients_[base] = gradient;
  return gradient;
}

ValueId Differentiator::gradient_target(ValueId id) {
  const Value value = list_.value(id);
  const std::string name = fmt::format("d_{}", value.name);
  if (value.base == kNone) return list_.computed(name, value.rows, value.cols, value.dtype);
  const auto known = gradients_.find(id);
  if (known != gradients_.end()) return known->second;
  Value view = value;
  view.name = name;
  view.base = base_gradient(value.base);
  const ValueId target = list_.add_value(std::move(view));
  return target;
}

void Differentiator::contribute(ValueId id, ValueId gradient) {
  const auto known = gradients_.find(id);
  if (known == gradients_.end() || known->second == gradient) {
    gradients_[id] = gradient;
    return;
  }
  MUSTER_ASSERT(list_.value(id).base == kNone);  // views are written in place, once
  const Value value = list_.value(id);
  const ValueId sum =
      list_.computed(fmt::format("d_{}_sum", value.name), value.rows, value.cols, value.dtype);
  emit(list_, "add", {known->second, gradient}, {sum});
  gradients_[id] = sum;
}

ValueId Differentiator::gradient(ValueId id) const {
  const auto known = gradients_.find(id);
  return known == gradients_.end() ? kNone : known->second;
}

bool Differentiator::is_reached(ValueId id) const {
  return gradient(id) != kNone || gradient(list_.root(id)) != kNone;
}

ValueId Differentiator::take_pending(ValueId id) {
  const ValueId pending = gradient(id);
  gradients_.erase(id);
  return pending;
}

ValueId Differentiator::parameter_gradient(ValueId parameter) {
  Value value = list_.value(parameter);
  MUSTER_ASSERT(value.origin == Origin::parameter);
  value.name = fmt::format("d_{}", value.name);
  value.dtype = Dtype::f32;
  value.keeps_dtype = true;
  value.origin = Origin::gradient;
  return list_.add_value(std::move(value));
}

bool Differentiator::wants(ValueId id) const {
  const Origin origin = list_.value(list_.root(id)).origin;
  return origin == Origin::computed || origin == Origin::parameter;
}

void Differentiator::run(const std::vector<Op>& forward) {
  for (auto op = forward.rbegin(); op != forward.rend(); ++op) {
    const bool leads_back = std::any_of(op->outputs.begin(), op->outputs.end(),
                                        [&](ValueId id) { return id != kNone && is_reached(id); });
    if (leads_back) op->kind->backward(*this, *op);
  }
}

}  // namespace muster::runtime
