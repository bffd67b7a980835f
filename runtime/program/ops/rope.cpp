#include "kernels/ops/rope.hpp"

#include "runtime/program/differentiate.hpp"
#include "runtime/program/ops/kinds.hpp"

namespace muster::runtime::ops {
namespace {

/// In place. inputs: x, positions, cos, sin; outputs: x. Attributes head_dim, inverse.
class Rope final : public OpKind {
 public:
  std::string_view name() const noexcept override { return "rope"; }

  /// The gradient is rotated back, in place too: nothing else reads it before that.
  void backward(Differentiator& d, const Op& op) const override {
    const ValueId gradient = d.gradient_target(op.inputs[0]);
    Attributes attributes = op.attributes;
    attributes.set("inverse", 1.0);
    emit(d.list(), "rope", {gradient, op.inputs[1], op.inputs[2], op.inputs[3]}, {gradient},
         attributes);
  }

  Cost cost(const List& list, const Op& op) const override {
    return {.bytes = 2.0 * static_cast<double>(list.value(op.inputs[0]).bytes())};
  }

  BoundOp bind(const Binding& binding, const Op& op) const override {
    const kernels::RopeArgs args{.x = binding.view(op.inputs[0]),
                                 .positions = binding.view(op.inputs[1]),
                                 .cos = binding.view(op.inputs[2]),
                                 .sin = binding.view(op.inputs[3]),
                                 .head_dim = op.attributes.whole("head_dim"),
                                 .inverse = op.attributes.is_set("inverse")};
    return [&device = binding.device(), args] { kernels::rope(device, args); };
  }
};

}  // namespace

const OpKind& rope() {
  static const Rope kind;
  return kind;
}

}  // namespace muster::runtime::ops
