#include "kernels/ops/adamw.hpp"
#include "kernels/ops/reduce.hpp"
#include "runtime/program/ops/kinds.hpp"

namespace muster::runtime::ops {
namespace {

/// inputs: x; outputs: {sum of squares, found-inf} as one row of two f64.
class NormSquared final : public OpKind {
 public:
  std::string_view name() const noexcept override { return "norm_squared"; }

  BoundOp bind(const Binding& binding, const Op& op) const override {
    const kernels::NormSquaredArgs args{.out = binding.view(op.outputs[0]),
                                        .x = binding.view(op.inputs[0])};
    return [&device = binding.device(), args] { kernels::norm_squared(device, args); };
  }
};

/// inputs: gradient; outputs: master, first moment, second moment, compute copy (or none).
/// Attributes beta1, beta2, eps, weight_decay; the step's own numbers come from the binding.
class Adamw final : public OpKind {
 public:
  std::string_view name() const noexcept override { return "adamw"; }

  /// Every output but the compute copy is read as well.
  Cost cost(const List& list, const Op& op) const override {
    Cost cost = OpKind::cost(list, op);
    cost.bytes += 3.0 * static_cast<double>(list.value(op.outputs[0]).bytes());
    return cost;
  }

  BoundOp bind(const Binding& binding, const Op& op) const override {
    const kernels::AdamwArgs args{.master = binding.view(op.outputs[0]),
                                  .m = binding.view(op.outputs[1]),
                                  .v = binding.view(op.outputs[2]),
                                  .grad = binding.view(op.inputs[0]),
                                  .compute = binding.view(op.outputs[3]),
                                  .beta1 = static_cast<float>(op.attributes["beta1"]),
                                  .beta2 = static_cast<float>(op.attributes["beta2"]),
                                  .eps = static_cast<float>(op.attributes["eps"]),
                                  .weight_decay = static_cast<float>(op.attributes["weight_decay"]),
                                  .step = binding.update()};
    return [&device = binding.device(), args] { kernels::adamw(device, args); };
  }
};

}  // namespace

const OpKind& norm_squared() {
  static const NormSquared kind;
  return kind;
}

const OpKind& adamw() {
  static const Adamw kind;
  return kind;
}

}  // namespace muster::runtime::ops
