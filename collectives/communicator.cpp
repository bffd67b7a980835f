#include "collectives/communicator.hpp"

#include <exception>

#include <fmt/format.h>

#include "collectives/call_check.hpp"
#include "collectives/trace/recorder.hpp"
#include "kernels/base/error.hpp"
#include "kernels/base/log.hpp"

namespace muster::collectives {
namespace {

// The elements as a vector: back ends need no shapes.
template <typename View>
View flat(const View& view) {
  return {view.data, view.dtype, 1, view.count()};
}

// Nothing to move on any rank. Where ranks may differ they must meet to find out.
bool is_empty(const Call& call) {
  switch (call.kind) {
    case CallKind::barrier:
    case CallKind::allocate:
    case CallKind::all_to_all_v:
    case CallKind::send_receive: return false;
    default: return call.count == 0;
  }
}

// Done within microseconds, unless it waits.
bool is_small(const Call& call) {
  constexpr std::int64_t kSmall = 1024;  // elements in and out
  return call.in.count() + call.out.count() <= kSmall;
}

}  // namespace

Pending& Pending::operator=(Pending&& other) noexcept {
  if (this != &other) {
    finish();
    work_ = std::move(other.work_);
    ticket_ = other.ticket_;
  }
  return *this;
}

Pending::~Pending() {
  finish();
}

void Pending::wait() {
  if (work_ == nullptr) return;
  const std::unique_ptr<Work> work = std::move(work_);
  trace::record_until_end(ticket_, [&] { work->wait(); });
}

void Pending::finish() noexcept {
  if (work_ == nullptr) return;
  try {
    wait();
  } catch (const std::exception& error) {
    log_error(fmt::format("a collective that nobody waited for failed: {}", error.what()));
  }
}

Pending Communicator::all_reduce(ConstTensorView in, TensorView out, ReduceOp op,
                                 const CallOptions& options) {
  Call call{.kind = CallKind::all_reduce,
            .in = in,
            .out = out,
            .count = in.count(),
            .op = op,
            .options = options};
  check_views(call);
  if (in.count() != out.count()) refuse(call, "in and out must have one count");
  check_overlap(call, in.data, out.data);
  return submit(call);
}

Pending Communicator::all_gather(ConstTensorView in, TensorView out, const CallOptions& options) {
  Call call{
      .kind = CallKind::all_gather, .in = in, .out = out, .count = in.count(), .options = options};
  check_views(call);
  check_whole(call, size_, "out", out, "in", in);
  check_overlap(call, in.data, share_of(out, in.bytes(), rank_));
  return submit(call);
}

Pending Communicator::reduce_scatter(ConstTensorView in, TensorView out, ReduceOp op,
                                     const CallOptions& options) {
  Call call{.kind = CallKind::reduce_scatter,
            .in = in,
            .out = out,
            .count = in.count(),
            .op = op,
            .options = options};
  check_views(call);
  check_whole(call, size_, "in", in, "out", out);
  check_overlap(call, share_of(in, out.bytes(), rank_), out.data);
  return submit(call);
}

Pending Communicator::broadcast(TensorView data, int root, const CallOptions& options) {
  Call call{.kind = CallKind::broadcast,
            .in = data,
            .out = data,
            .count = data.count(),
            .root = root,
            .options = options};
  check_views(call);
  check_rank(call, root, size_, "root");
  return submit(call);
}

Pending Communicator::reduce(ConstTensorView in, TensorView out, ReduceOp op, int root,
                             const CallOptions& options) {
  Call call{.kind = CallKind::reduce,
            .in = in,
            .out = rank_ == root ? out : TensorView(nullptr, in.dtype, 1, 0),
            .count = in.count(),
            .op = op,
            .root = root,
            .options = options};
  check_rank(call, root, size_, "root");
  check_views(call);
  if (rank_ == root && in.count() != out.count()) refuse(call, "in and out must have one count");
  check_overlap(call, in.data, call.out.data);
  return submit(call);
}

Pending Communicator::gather(ConstTensorView in, TensorView out, int root,
                             const CallOptions& options) {
  Call call{.kind = CallKind::gather,
            .in = in,
            .out = rank_ == root ? out : TensorView(nullptr, in.dtype, 1, 0),
            .count = in.count(),
            .root = root,
            .options = options};
  check_rank(call, root, size_, "root");
  check_views(call);
  if (rank_ == root) check_whole(call, size_, "out", out, "in", in);
  check_overlap(call, in.data, share_of(call.out, in.bytes(), rank_));
  return submit(call);
}

Pending Communicator::scatter(ConstTensorView in, TensorView out, int root,
                              const CallOptions& options) {
  Call call{.kind = CallKind::scatter,
            .in = rank_ == root ? in : ConstTensorView(nullptr, out.dtype, 1, 0),
            .out = out,
            .count = out.count(),
            .root = root,
            .options = options};
  check_rank(call, root, size_, "root");
  check_views(call);
  if (rank_ == root) check_whole(call, size_, "in", in, "out", out);
  check_overlap(call, share_of(call.in, out.bytes(), rank_), out.data);
  return submit(call);
}

Pending Communicator::all_to_all(ConstTensorView in, TensorView out, const CallOptions& options) {
  Call call{
      .kind = CallKind::all_to_all, .in = in, .out = out, .count = in.count(), .options = options};
  check_views(call);
  if (in.count() != out.count()) refuse(call, "in and out must have one count");
  if (in.count() % size_ != 0) {
    refuse(call, fmt::format("{} elements are no {} equal shares", in.count(), size_));
  }
  const bool is_one_copy = size_ == 1 && in.data == out.data;
  if (!is_one_copy && overlap(in, out)) refuse(call, "in and out overlap");
  return submit(call);
}

void Communicator::barrier(const CallOptions& options) {
  Call call{.kind = CallKind::barrier, .options = options};
  submit(call).wait();
}

Pending Communicator::submit(Call& call) {
  const int lane = call.options.lane;
  if (lane < 0 || lane >= kMaxLanes) {
    refuse(call, fmt::format("lane {} is not one of 0 to {}", lane, kMaxLanes - 1));
  }
  if (!(call.options.timeout_s > 0.0)) {
    refuse(call, fmt::format("timeout_s {} must be above 0", call.options.timeout_s));
  }
  call.in = flat(call.in);
  call.out = flat(call.out);
  if (call.kind != CallKind::send_receive) {
    call.sequence = sequences_[static_cast<std::size_t>(lane)]++;
  }
  return is_empty(call) ? Pending() : perform(call);
}

Pending Communicator::perform(Call& call) {
  trace::Recorder* const recorder = trace::Recorder::current();
  if (recorder == nullptr) return do_call(call);
  call.ticket = recorder->begin({.signature = Signature(call),
                                 .group = recorded_name_,
                                 .label = call.options.label,
                                 .lane = call.options.lane,
                                 .to = call.to,
                                 .from = call.from});
  const std::uint64_t long_waits = recorder->long_waits();
  try {
    Pending pending = do_call(call);
    if (pending.work_ != nullptr) {
      pending.ticket_ = call.ticket;
    } else if (is_small(call) && recorder->long_waits() == long_waits) {
      recorder->end_at_once(call.ticket);
    } else {
      recorder->end(call.ticket, trace::Outcome::done);
    }
    return pending;
  } catch (...) {
    recorder->end(call.ticket, trace::Outcome::failed);
    throw;
  }
}

}  // namespace muster::collectives
