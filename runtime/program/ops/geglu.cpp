#include "kernels/ops/geglu.hpp"

#include "runtime/program/differentiate.hpp"
#include "runtime/program/ops/kinds.hpp"

namespace muster::runtime::ops {
namespace {

/// inputs: gate, up; outputs: h.
class Geglu final : public OpKind {
 public:
  std::string_view name() const noexcept override { return "geglu"; }

  void backward(Differentiator& d, const Op& op) const override {
    const ValueId dgate = d.gradient_target(op.inputs[0]);
    const ValueId dup = d.gradient_target(op.inputs[1]);
    emit(d.list(), "geglu_backward", {d.gradient(op.outputs[0]), op.inputs[0], op.inputs[1]},
         {dgate, dup});
    d.contribute(op.inputs[0], dgate);
    d.contribute(op.inputs[1], dup);
  }

  BoundOp bind(const Binding& binding, const Op& op) const override {
    const kernels::GegluArgs args{.h = binding.view(op.outputs[0]),
                                  .gate = binding.view(op.inputs[0]),
                                  .up = binding.view(op.inputs[1])};
    return [&device = binding.device(), args] { kernels::geglu(device, args); };
  }
};

/// inputs: dh, gate, up; outputs: dgate, dup.
class GegluBackward final : public OpKind {
 public:
  std::string_view name() const noexcept override { return "geglu_backward"; }

  BoundOp bind(const Binding& binding, const Op& op) const override {
    const kernels::GegluBackwardArgs args{.dgate = binding.view(op.outputs[0]),
                                          .dup = binding.view(op.outputs[1]),
                                          .dh = binding.view(op.inputs[0]),
                                          .gate = binding.view(op.inputs[1]),
                                          .up = binding.view(op.inputs[2])};
    return [&device = binding.device(), args] { kernels::geglu_backward(device, args); };
  }
};

}  // namespace

const OpKind& geglu() {
  static const Geglu kind;
  return kind;
}

const OpKind& geglu_backward() {
  static const GegluBackward kind;
  return kind;
}

}  // namespace muster::runtime::ops
