#include "kernels/ops/softmax.hpp"

#include "runtime/program/ops/kinds.hpp"

namespace muster::runtime::ops {
namespace {

/// inputs: logits, targets; outputs: max, sum, target.
class SoftmaxStatistics final : public OpKind {
 public:
  std::string_view name() const noexcept override { return "softmax_statistics"; }

  BoundOp bind(const Binding& binding, const Op& op) const override {
    const kernels::SoftmaxStatisticsArgs args{.max = binding.view(op.outputs[0]),
                                              .sum = binding.view(op.outputs[1]),
                                              .target = binding.view(op.outputs[2]),
                                              .logits = binding.view(op.inputs[0]),
                                              .targets = binding.view(op.inputs[1]),
                                              .vocab_begin = op.attributes.whole("vocab_begin")};
    return [&device = binding.device(), args] { kernels::softmax_statistics(device, args); };
  }
};

/// inputs: max, sum, target, targets; outputs: loss.
class SoftmaxLoss final : public OpKind {
 public:
  std::string_view name() const noexcept override { return "softmax_loss"; }
  int accumulated_output() const noexcept override { return 0; }

  BoundOp bind(const Binding& binding, const Op& op) const override {
    const kernels::SoftmaxLossArgs args{.loss = binding.view(op.outputs[0]),
                                        .max = binding.view(op.inputs[0]),
                                        .sum = binding.view(op.inputs[1]),
                                        .target = binding.view(op.inputs[2]),
                                        .targets = binding.view(op.inputs[3]),
                                        .accumulate = op.attributes.is_set("accumulate")};
    return [&device = binding.device(), args] { kernels::softmax_loss(device, args); };
  }
};

/// inputs: logits, max, sum, targets, seed; outputs: dlogits.
class SoftmaxGradient final : public OpKind {
 public:
  std::string_view name() const noexcept override { return "softmax_gradient"; }

  BoundOp bind(const Binding& binding, const Op& op) const override {
    const kernels::SoftmaxGradientArgs args{.dlogits = binding.view(op.outputs[0]),
                                            .logits = binding.view(op.inputs[0]),
                                            .max = binding.view(op.inputs[1]),
                                            .sum = binding.view(op.inputs[2]),
                                            .targets = binding.view(op.inputs[3]),
                                            .seed = binding.view(op.inputs[4]),
                                            .vocab_begin = op.attributes.whole("vocab_begin")};
    return [&device = binding.device(), args] { kernels::softmax_gradient(device, args); };
  }
};

}  // namespace

const OpKind& softmax_statistics() {
  static const SoftmaxStatistics kind;
  return kind;
}

const OpKind& softmax_loss() {
  static const SoftmaxLoss kind;
  return kind;
}

const OpKind& softmax_gradient() {
  static const SoftmaxGradient kind;
  return kind;
}

}  // namespace muster::runtime::ops
