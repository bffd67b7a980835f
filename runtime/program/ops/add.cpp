#include "kernels/ops/elementwise.hpp"
#include "runtime/program/differentiate.hpp"
#include "runtime/program/ops/kinds.hpp"

namespace muster::runtime::ops {
namespace {

/// inputs: a, b; outputs: c = a + b.
class Add final : public OpKind {
 public:
  std::string_view name() const noexcept override { return "add"; }

  void backward(Differentiator& d, const Op& op) const override {
    const ValueId gradient = d.gradient(op.outputs[0]);
    d.contribute(op.inputs[0], gradient);
    d.contribute(op.inputs[1], gradient);
  }

  BoundOp bind(const Binding& binding, const Op& op) const override {
    const kernels::AddArgs args{.c = binding.view(op.outputs[0]),
                                .a = binding.view(op.inputs[0]),
                                .b = binding.view(op.inputs[1])};
    return [&device = binding.device(), args] { kernels::add(device, args); };
  }
};

}  // namespace

const OpKind& add() {
  static const Add kind;
  return kind;
}

}  // namespace muster::runtime::ops
