#include <string>

#include "collectives/communicator.hpp"
#include "runtime/program/ops/kinds.hpp"

namespace muster::runtime::ops {
namespace {

/// In place, sum over the data group. inputs: x; outputs: x.
class AllReduce final : public OpKind {
 public:
  std::string_view name() const noexcept override { return "all_reduce"; }

  Cost cost(const List& list, const Op& op) const override {
    const auto bytes = static_cast<double>(list.value(op.inputs[0]).bytes());
    return {.bytes = 2.0 * bytes, .message_bytes = bytes};
  }

  BoundOp bind(const Binding& binding, const Op& op) const override {
    const TensorView data = binding.view(op.inputs[0]);
    const collectives::CallOptions options{.label = "gradients",
                                           .timeout_s = binding.comm_timeout_s()};
    return [&group = binding.data_group(), data, options] {
      group.all_reduce(data, data, collectives::ReduceOp::sum, options).wait();
    };
  }
};

}  // namespace

const OpKind& all_reduce() {
  static const AllReduce kind;
  return kind;
}

}  // namespace muster::runtime::ops
