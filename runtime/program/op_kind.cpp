#include "runtime/program/op_kind.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "kernels/base/error.hpp"
#include "runtime/program/ops/kinds.hpp"

namespace muster::runtime {

void OpKind::backward(Differentiator& /*differentiator*/, const Op& /*op*/) const {
  throw Error(ErrorCode::internal, fmt::format("op {} has no backward", name()));
}

Cost OpKind::cost(const List& list, const Op& op) const {
  Cost cost;
  for (const ValueId id : op.inputs) {
    if (id != kNone) cost.bytes += static_cast<double>(list.value(id).bytes());
  }
  for (const ValueId id : op.outputs) {
    if (id != kNone) cost.bytes += static_cast<double>(list.value(id).bytes());
  }
  return cost;
}

const std::vector<const OpKind*>& op_kinds() {
  static const std::vector<const OpKind*> kinds{
      &ops::embedding(),
      &ops::embedding_backward(),
      &ops::rms_norm(),
      &ops::rms_norm_backward(),
      &ops::linear(),
      &ops::linear_input_gradient(),
      &ops::linear_weight_gradient(),
      &ops::column_sum(),
      &ops::rope(),
      &ops::attention(),
      &ops::attention_backward(),
      &ops::swiglu(),
      &ops::swiglu_backward(),
      &ops::geglu(),
      &ops::geglu_backward(),
      &ops::add(),
      &ops::softmax_statistics(),
      &ops::softmax_loss(),
      &ops::softmax_gradient(),
      &ops::norm_squared(),
      &ops::adamw(),
      &ops::all_reduce(),
  };
  return kinds;
}

const OpKind& op_kind(std::string_view name) {
  for (const OpKind* kind : op_kinds()) {
    if (kind->name() == name) return *kind;
  }
  throw Error(ErrorCode::internal, fmt::format("no op kind is called {}", name));
}

void emit(List& list, std::string_view kind, std::vector<ValueId> inputs,
          std::vector<ValueId> outputs, Attributes attributes) {
  list.ops.push_back(
      {&op_kind(kind), std::move(inputs), std::move(outputs), std::move(attributes)});
}

}  // namespace muster::runtime
