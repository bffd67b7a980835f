#pragma once

#include <cstdint>
#include <string_view>

#include "kernels/base/deadline.hpp"
#include "kernels/base/tensor_view.hpp"
#include "kernels/ops/reduce.hpp"

namespace muster::collectives {

using kernels::ReduceOp;

/// What a call carries beside its data. The label must live as long as the call's Pending.
struct CallOptions {
  std::string_view label = {};  // for errors and traces: "gradients of block 3"
  int lane = 0;                 // calls on one lane happen in order; lanes are independent
  double timeout_s = 300.0;     // from the call to its end
};

/// The deadline of a call that begins now.
Deadline deadline_of(const CallOptions& options) noexcept;

/// The kinds of meetings of a group. allocate is a back end's own: symmetric memory is handed out
/// collectively.
enum class CallKind : std::uint8_t {
  all_reduce,
  all_gather,
  reduce_scatter,
  broadcast,
  barrier,
  allocate
};

std::string_view to_string(CallKind kind) noexcept;
std::string_view to_string(ReduceOp op) noexcept;

/// What a back end is asked to do. Its arguments are checked; its views are vectors [1, n], empty
/// for a barrier only. broadcast: in and out are both the data.
struct Call {
  CallKind kind = CallKind::barrier;
  ConstTensorView in = {};
  TensorView out = {};
  ReduceOp op = ReduceOp::sum;
  int root = 0;
  std::uint64_t sequence = 0;  // number of the call on its lane
  CallOptions options = {};
};

}  // namespace muster::collectives
