#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "kernels/base/deadline.hpp"
#include "kernels/base/tensor_view.hpp"
#include "kernels/ops/reduce.hpp"

namespace muster::collectives {

using kernels::ReduceOp;

struct Signature;

/// What a call carries beside its data. The label must live as long as the call's Pending.
struct CallOptions {
  std::string_view label = {};  // for errors and traces: "gradients of block 3"
  int lane = 0;                 // calls on one lane happen in order; lanes are independent
  double timeout_s = 300.0;     // from the call to its end
  /// The call of another group that this one is a step of: ranks compare that, and errors name it,
  /// in place of this. It must live as long as the call's Pending.
  const Signature* step_of = nullptr;
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
  allocate,
  reduce,
  gather,
  scatter,
  all_to_all,
  all_gather_v,
  reduce_scatter_v,
  all_to_all_v,
  send_receive
};

/// True where the call combines elements, so that its op matters.
bool is_reduction(CallKind kind) noexcept;
/// True where one rank differs from the others, so that its root matters.
bool has_root(CallKind kind) noexcept;

std::string_view to_string(CallKind kind) noexcept;
std::string_view to_string(ReduceOp op) noexcept;

/// What a back end is asked to do. Its arguments are checked; its views are vectors [1, n] and both
/// have the call's dtype, the one a rank does not need being empty. broadcast: in and out are both
/// the data. The lists of counts live until the Pending is done.
struct Call {
  CallKind kind = CallKind::barrier;
  ConstTensorView in = {};
  TensorView out = {};
  /// The number that all ranks must agree on: elements of in; of out in a scatter; of all ranks
  /// together in all_gather_v and reduce_scatter_v; 0 in all_to_all_v and send_receive.
  std::int64_t count = 0;
  ReduceOp op = ReduceOp::sum;
  int root = 0;
  std::span<const std::int64_t> in_counts = {};   // all_to_all_v: [size] elements for each rank
  std::span<const std::int64_t> out_counts = {};  // *_v: [size] elements of each rank's share
  int to = kNobody;                               // send_receive: who gets in
  int from = kNobody;                             // send_receive: who fills out
  std::uint64_t sequence = 0;  // number of the call on its lane; 0 in a send_receive
  CallOptions options = {};
  std::uint64_t ticket = 0;  // of the call in this process's record, 0: none

  static constexpr int kNobody = -1;
};

}  // namespace muster::collectives
