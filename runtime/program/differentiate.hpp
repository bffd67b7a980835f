#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/program/list.hpp"

namespace muster::runtime {

/// Turns a forward list around: walks its ops in reverse, lets every kind add its backward ops to
/// the same list, and sums the gradients of values that are used more than once.
///
/// The gradient of a view is the same view of its base's gradient, so kernels that fill q, k and v
/// side by side need no copies. Gradients have the dtype of their value; parameters' are f32.
class Differentiator {
 public:
  /// New ops are appended to list.ops.
  explicit Differentiator(List& list) : list_(list) {}

  /// Declares `gradient` to be (a part of) the gradient of `value`.
  void contribute(ValueId value, ValueId gradient);

  /// Runs the kinds' backward over the ops `forward`, last first. Ops none of whose outputs has a
  /// gradient are passed over.
  void run(const std::vector<Op>& forward);

  /// The gradient of a value so far; kNone if nothing has reached it.
  ValueId gradient(ValueId value) const;

  /// Where a kind shall write the gradient of `value`: a fresh value, or a view into the gradient
  /// of the base. contribute() it afterwards.
  ValueId gradient_target(ValueId value);

  /// Takes the part of the gradient that has already reached `value`, for kinds that can add it on
  /// the way; the sum they write replaces it. kNone if there is none.
  ValueId take_pending(ValueId value);

  /// The f32 gradient of a parameter; kNone when it is frozen.
  ValueId parameter_gradient(ValueId parameter);

  /// Whether a gradient of this operand leads to anything.
  bool wants(ValueId value) const;

  List& list() noexcept { return list_; }

 private:
  ValueId base_gradient(ValueId base);
  bool is_reached(ValueId value) const;

  List& list_;
  std::unordered_map<ValueId, ValueId> gradients_;
  std::unordered_map<ValueId, ValueId> view_gradients_;  // of bases that are filled through views
};

}  // namespace muster::runtime
