#include "kernels/ops/embedding.hpp"

#include "runtime/program/differentiate.hpp"
#include "runtime/program/ops/kinds.hpp"

namespace muster::runtime::ops {
namespace {

/// inputs: table, tokens; outputs: y.
class Embedding final : public OpKind {
 public:
  std::string_view name() const noexcept override { return "embedding"; }

  void backward(Differentiator& differentiator, const Op& op) const override {
    const ValueId table = differentiator.parameter_gradient(op.inputs[0]);
    if (table == kNone) return;
    emit(differentiator.list(), "embedding_backward",
         {differentiator.gradient(op.outputs[0]), op.inputs[1]}, {table});
  }

  /// The rows that are looked up, not the whole table.
  Cost cost(const List& list, const Op& op) const override {
    return {.bytes = 2.0 * static_cast<double>(list.value(op.outputs[0]).bytes())};
  }

  BoundOp bind(const Binding& binding, const Op& op) const override {
    const kernels::EmbeddingArgs args{.y = binding.view(op.outputs[0]),
                                      .table = binding.view(op.inputs[0]),
                                      .tokens = binding.view(op.inputs[1])};
    return [&device = binding.device(), args] { kernels::embedding(device, args); };
  }
};

/// inputs: dy, tokens; outputs: dtable.
class EmbeddingBackward final : public OpKind {
 public:
  std::string_view name() const noexcept override { return "embedding_backward"; }
  int accumulated_output() const noexcept override { return 0; }

  Cost cost(const List& list, const Op& op) const override {
    const double rows = 3.0 * static_cast<double>(list.value(op.inputs[0]).bytes());
    const bool clears = !op.attributes.is_set("accumulate");
    return {.bytes = rows + (clears ? static_cast<double>(list.value(op.outputs[0]).bytes()) : 0)};
  }

  BoundOp bind(const Binding& binding, const Op& op) const override {
    const kernels::EmbeddingBackwardArgs args{.dtable = binding.view(op.outputs[0]),
                                              .dy = binding.view(op.inputs[0]),
                                              .tokens = binding.view(op.inputs[1]),
                                              .accumulate = op.attributes.is_set("accumulate")};
    return [&device = binding.device(), args] { kernels::embedding_backward(device, args); };
  }
};

}  // namespace

const OpKind& embedding() {
  static const Embedding kind;
  return kind;
}

const OpKind& embedding_backward() {
  static const EmbeddingBackward kind;
  return kind;
}

}  // namespace muster::runtime::ops
