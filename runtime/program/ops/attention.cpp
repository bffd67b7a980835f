#include "kernels/ops/attention.hpp"

#include "runtime/program/differentiate.hpp"
#include "runtime/program/ops/kinds.hpp"

namespace muster::runtime::ops {
namespace {

/// Products of two [tokens, seq_len / 2] matrices with heads: `products` of them.
double attention_flops(const List& list, const Op& op, ValueId q, double products) {
  const double visible = static_cast<double>(op.attributes.whole("seq_len")) / 2.0;
  return 2.0 * products * static_cast<double>(list.value(q).count()) * visible;
}

/// inputs: q, k, v, bounds; outputs: out, lse. Attributes heads, kv_heads, scale, and seq_len: the
/// length of a document that fills its row, for the price.
class Attention final : public OpKind {
 public:
  std::string_view name() const noexcept override { return "attention"; }

  void backward(Differentiator& d, const Op& op) const override {
    const ValueId dq = d.gradient_target(op.inputs[0]);
    const ValueId dk = d.gradient_target(op.inputs[1]);
    const ValueId dv = d.gradient_target(op.inputs[2]);
    emit(d.list(), "attention_backward",
         {d.gradient(op.outputs[0]), op.outputs[0], op.inputs[0], op.inputs[1], op.inputs[2],
          op.outputs[1], op.inputs[3]},
         {dq, dk, dv}, op.attributes);
    d.contribute(op.inputs[0], dq);
    d.contribute(op.inputs[1], dk);
    d.contribute(op.inputs[2], dv);
  }

  Cost cost(const List& list, const Op& op) const override {
    Cost cost = OpKind::cost(list, op);
    cost.flops = attention_flops(list, op, op.inputs[0], 2.0);
    return cost;
  }

  BoundOp bind(const Binding& binding, const Op& op) const override {
    const kernels::AttentionArgs args{.out = binding.view(op.outputs[0]),
                                      .lse = binding.view(op.outputs[1]),
                                      .q = binding.view(op.inputs[0]),
                                      .k = binding.view(op.inputs[1]),
                                      .v = binding.view(op.inputs[2]),
                                      .bounds = binding.view(op.inputs[3]),
                                      .heads = op.attributes.whole("heads"),
                                      .kv_heads = op.attributes.whole("kv_heads"),
                                      .scale = static_cast<float>(op.attributes["scale"])};
    return [&device = binding.device(), args] { kernels::attention(device, args); };
  }
};

/// inputs: dout, out, q, k, v, lse, bounds; outputs: dq, dk, dv. Attributes as forward.
class AttentionBackward final : public OpKind {
 public:
  std::string_view name() const noexcept override { return "attention_backward"; }

  Cost cost(const List& list, const Op& op) const override {
    Cost cost = OpKind::cost(list, op);
    cost.flops = attention_flops(list, op, op.inputs[2], 5.0);
    return cost;
  }

  BoundOp bind(const Binding& binding, const Op& op) const override {
    const kernels::AttentionBackwardArgs args{.dq = binding.view(op.outputs[0]),
                                              .dk = binding.view(op.outputs[1]),
                                              .dv = binding.view(op.outputs[2]),
                                              .dout = binding.view(op.inputs[0]),
                                              .out = binding.view(op.inputs[1]),
                                              .q = binding.view(op.inputs[2]),
                                              .k = binding.view(op.inputs[3]),
                                              .v = binding.view(op.inputs[4]),
                                              .lse = binding.view(op.inputs[5]),
                                              .bounds = binding.view(op.inputs[6]),
                                              .heads = op.attributes.whole("heads"),
                                              .kv_heads = op.attributes.whole("kv_heads"),
                                              .scale = static_cast<float>(op.attributes["scale"])};
    return [&device = binding.device(), args] { kernels::attention_backward(device, args); };
  }
};

}  // namespace

const OpKind& attention() {
  static const Attention kind;
  return kind;
}

const OpKind& attention_backward() {
  static const AttentionBackward kind;
  return kind;
}

}  // namespace muster::runtime::ops
