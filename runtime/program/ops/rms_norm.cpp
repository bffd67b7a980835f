#include "kernels/ops/rms_norm.hpp"

#include "runtime/program/differentiate.hpp"
#include "runtime/program/ops/kinds.hpp"

namespace muster::runtime::ops {
namespace {

/// inputs: x, gain, addend (or none); outputs: y, rstd, sum (with an addend). Attribute eps.
/// With an addend it is the residual connection and the norm after it in one pass over memory.
class RmsNorm final : public OpKind {
 public:
  std::string_view name() const noexcept override { return "rms_norm"; }

  void backward(Differentiator& d, const Op& op) const override {
    const bool is_fused = op.inputs[2] != kNone;
    const ValueId normalised = is_fused ? op.outputs[2] : op.inputs[0];
    const ValueId pending = d.take_pending(normalised);
    const ValueId dx = d.gradient_target(normalised);
    emit(d.list(), "rms_norm_backward",
         {d.gradient(op.outputs[0]), normalised, op.inputs[1], op.outputs[1], pending},
         {dx, d.parameter_gradient(op.inputs[1])});
    d.contribute(op.inputs[0], dx);
    if (is_fused) d.contribute(op.inputs[2], dx);
  }

  BoundOp bind(const Binding& binding, const Op& op) const override {
    const bool is_fused = op.inputs[2] != kNone;
    const kernels::RmsNormArgs args{.y = binding.view(op.outputs[0]),
                                    .rstd = binding.view(op.outputs[1]),
                                    .x = binding.view(op.inputs[0]),
                                    .gain = binding.view(op.inputs[1]),
                                    .eps = static_cast<float>(op.attributes["eps"]),
                                    .addend = binding.view(op.inputs[2]),
                                    .sum = is_fused ? binding.view(op.outputs[2]) : TensorView{}};
    return [&device = binding.device(), args] { kernels::rms_norm(device, args); };
  }
};

/// inputs: dy, x, gain, rstd, addend (or none); outputs: dx, dgain (or none).
class RmsNormBackward final : public OpKind {
 public:
  std::string_view name() const noexcept override { return "rms_norm_backward"; }
  int accumulated_output() const noexcept override { return 1; }

  BoundOp bind(const Binding& binding, const Op& op) const override {
    const kernels::RmsNormBackwardArgs args{.dx = binding.view(op.outputs[0]),
                                            .dgain = binding.view(op.outputs[1]),
                                            .dy = binding.view(op.inputs[0]),
                                            .x = binding.view(op.inputs[1]),
                                            .gain = binding.view(op.inputs[2]),
                                            .rstd = binding.view(op.inputs[3]),
                                            .addend = binding.view(op.inputs[4]),
                                            .accumulate = op.attributes.is_set("accumulate")};
    return [&device = binding.device(), args] { kernels::rms_norm_backward(device, args); };
  }
};

}  // namespace

const OpKind& rms_norm() {
  static const RmsNorm kind;
  return kind;
}

const OpKind& rms_norm_backward() {
  static const RmsNormBackward kind;
  return kind;
}

}  // namespace muster::runtime::ops
