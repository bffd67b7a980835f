#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "collectives/communicator.hpp"
#include "kernels/base/tensor_view.hpp"
#include "kernels/device/device.hpp"
#include "kernels/ops/adamw.hpp"
#include "runtime/program/list.hpp"

namespace muster::runtime {

class Differentiator;

/// What an op costs, whoever runs it.
struct Cost {
  double flops = 0.0;          // multiply-adds count two
  double bytes = 0.0;          // read and written, each operand once
  double message_bytes = 0.0;  // for collectives: size of the message
};

/// An op with its kernel and addresses: call it to run it.
using BoundOp = std::function<void()>;

/// What a kind binds its ops to.
class Binding {
 public:
  virtual ~Binding() = default;

  /// The bytes of a value; the view of an absent operand is none.
  virtual TensorView view(ValueId id) const = 0;
  virtual kernels::Device& device() const = 0;
  /// The ranks that hold copies of the same parameters.
  virtual collectives::Communicator& data_group() const = 0;
  /// The numbers of this step's update; filled before the update runs.
  virtual const kernels::AdamwStep* update() const = 0;
  virtual double comm_timeout_s() const = 0;
};

/// One kind of op. It never asks for ranks, sharding or recompute: passes do that around it.
class OpKind {
 public:
  OpKind() = default;
  OpKind(const OpKind&) = delete;
  OpKind& operator=(const OpKind&) = delete;
  virtual ~OpKind() = default;

  virtual std::string_view name() const noexcept = 0;

  /// Adds the ops that carry gradients from the outputs of `op` to its inputs and parameters, only
  /// those that lead to a wanted gradient. What they read decides what forward must keep.
  virtual void backward(Differentiator& differentiator, const Op& op) const;

  virtual Cost cost(const List& list, const Op& op) const;

  /// The output that the op adds to, instead of overwriting it, when attribute "accumulate" is set;
  /// -1 if it has none. unroll() sets the attribute.
  virtual int accumulated_output() const noexcept { return -1; }

  /// The op, ready to run. Everything that can be decided is decided here.
  virtual BoundOp bind(const Binding& binding, const Op& op) const = 0;
};

/// THE LIST of kinds.
const std::vector<const OpKind*>& op_kinds();

/// A kind by name; Error(internal) for an unknown one.
const OpKind& op_kind(std::string_view name);

/// Appends an op to the list.
void emit(List& list, std::string_view kind, std::vector<ValueId> inputs,
          std::vector<ValueId> outputs, Attributes attributes = {});

}  // namespace muster::runtime
