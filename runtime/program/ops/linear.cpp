#include "kernels/ops/matmul.hpp"
#include "runtime/program/differentiate.hpp"
#include "runtime/program/ops/kinds.hpp"

namespace muster::runtime::ops {
namespace {

/// 2 m n k of a product whose result is `result` and whose summed dimension is `inner`.
Cost matmul_cost(const Cost& traffic, const Value& result, std::int64_t inner) {
  Cost cost = traffic;
  cost.flops = 2.0 * static_cast<double>(result.count()) * static_cast<double>(inner);
  return cost;
}

/// inputs: x, weight [out, in], bias [1, out] (or none); outputs: y.
class Linear final : public OpKind {
 public:
  std::string_view name() const noexcept override { return "linear"; }

  void backward(Differentiator& d, const Op& op) const override {
    const ValueId x = op.inputs[0];
    const ValueId dy = d.gradient(op.outputs[0]);
    const ValueId dweight = d.parameter_gradient(op.inputs[1]);
    if (dweight != kNone) emit(d.list(), "linear_weight_gradient", {dy, x}, {dweight});
    if (op.inputs[2] != kNone) {
      const ValueId dbias = d.parameter_gradient(op.inputs[2]);
      if (dbias != kNone) emit(d.list(), "column_sum", {dy}, {dbias});
    }
    if (!d.wants(x)) return;
    const ValueId dx = d.gradient_target(x);
    emit(d.list(), "linear_input_gradient", {dy, op.inputs[1]}, {dx});
    d.contribute(x, dx);
  }

  Cost cost(const List& list, const Op& op) const override {
    return matmul_cost(OpKind::cost(list, op), list.value(op.outputs[0]),
                       list.value(op.inputs[0]).cols);
  }

  BoundOp bind(const Binding& binding, const Op& op) const override {
    const kernels::MatmulArgs args{.c = binding.view(op.outputs[0]),
                                   .a = binding.view(op.inputs[0]),
                                   .b = binding.view(op.inputs[1]),
                                   .transpose_b = true,
                                   .bias = binding.view(op.inputs[2])};
    return [&device = binding.device(), args] { kernels::matmul(device, args); };
  }
};

/// inputs: dy, weight; outputs: dx = dy weight.
class LinearInputGradient final : public OpKind {
 public:
  std::string_view name() const noexcept override { return "linear_input_gradient"; }

  Cost cost(const List& list, const Op& op) const override {
    return matmul_cost(OpKind::cost(list, op), list.value(op.outputs[0]),
                       list.value(op.inputs[0]).cols);
  }

  BoundOp bind(const Binding& binding, const Op& op) const override {
    const kernels::MatmulArgs args{.c = binding.view(op.outputs[0]),
                                   .a = binding.view(op.inputs[0]),
                                   .b = binding.view(op.inputs[1])};
    return [&device = binding.device(), args] { kernels::matmul(device, args); };
  }
};

/// inputs: dy, x; outputs: dweight (+)= dy^T x, f32.
class LinearWeightGradient final : public OpKind {
 public:
  std::string_view name() const noexcept override { return "linear_weight_gradient"; }
  int accumulated_output() const noexcept override { return 0; }

  Cost cost(const List& list, const Op& op) const override {
    return matmul_cost(OpKind::cost(list, op), list.value(op.outputs[0]),
                       list.value(op.inputs[0]).rows);
  }

  BoundOp bind(const Binding& binding, const Op& op) const override {
    const kernels::MatmulArgs args{.c = binding.view(op.outputs[0]),
                                   .a = binding.view(op.inputs[0]),
                                   .b = binding.view(op.inputs[1]),
                                   .transpose_a = true,
                                   .accumulate = op.attributes.is_set("accumulate")};
    return [&device = binding.device(), args] { kernels::matmul(device, args); };
  }
};

/// inputs: x; outputs: out (+)= sum of the rows, f32.
class ColumnSum final : public OpKind {
 public:
  std::string_view name() const noexcept override { return "column_sum"; }
  int accumulated_output() const noexcept override { return 0; }

  BoundOp bind(const Binding& binding, const Op& op) const override {
    const kernels::ColumnSumArgs args{.out = binding.view(op.outputs[0]),
                                      .x = binding.view(op.inputs[0]),
                                      .accumulate = op.attributes.is_set("accumulate")};
    return [&device = binding.device(), args] { kernels::column_sum(device, args); };
  }
};

}  // namespace

const OpKind& linear() {
  static const Linear kind;
  return kind;
}

const OpKind& linear_input_gradient() {
  static const LinearInputGradient kind;
  return kind;
}

const OpKind& linear_weight_gradient() {
  static const LinearWeightGradient kind;
  return kind;
}

const OpKind& column_sum() {
  static const ColumnSum kind;
  return kind;
}

}  // namespace muster::runtime::ops
