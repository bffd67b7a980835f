#include "collectives/communicator.hpp"

#include <exception>

#include <fmt/format.h>

#include "kernels/base/error.hpp"
#include "kernels/base/log.hpp"

namespace muster::collectives {
namespace {

[[noreturn]] void refuse(const Call& call, std::string_view reason) {
  throw Error(ErrorCode::invalid_argument,
              fmt::format("{}{}{}: in {}, out {}: {}", to_string(call.kind),
                          call.options.label.empty() ? "" : " ", call.options.label,
                          to_string(call.in), to_string(call.out), reason));
}

bool overlap(ConstTensorView a, ConstTensorView b) {
  return a.data < b.data + b.bytes() && b.data < a.data + a.bytes();
}

// What must hold of the views of every call that moves data.
void check_views(const Call& call) {
  if (call.in.rows < 0 || call.in.cols < 0 || call.out.rows < 0 || call.out.cols < 0) {
    refuse(call, "rows and columns must not be negative");
  }
  if (call.in.dtype != call.out.dtype) refuse(call, "in and out must have one dtype");
  if (!call.in.is_contiguous() || !call.out.is_contiguous()) {
    refuse(call, "views must be contiguous; copy the columns together first");
  }
  if ((call.in.count() > 0 && call.in.is_none()) || (call.out.count() > 0 && call.out.is_none())) {
    refuse(call, "a view has elements but no data");
  }
}

// `whole` views may be the same, `share` is the one place where they may overlap otherwise.
void check_overlap(const Call& call, const std::byte* share, const std::byte* part) {
  if (share == part || !overlap(call.in, call.out)) return;
  refuse(call, "in and out overlap in part");
}

std::int64_t times(std::int64_t count, int size) {
  std::int64_t product = 0;
  return __builtin_mul_overflow(count, static_cast<std::int64_t>(size), &product) ? -1 : product;
}

// The elements as a vector: back ends need no shapes.
template <typename View>
View flat(const View& view) {
  return {view.data, view.dtype, 1, view.count()};
}

std::size_t offset_of_share(ConstTensorView share, int rank) {
  return share.bytes() * static_cast<std::size_t>(rank);
}

}  // namespace

Pending& Pending::operator=(Pending&& other) noexcept {
  if (this != &other) {
    finish();
    work_ = std::move(other.work_);
  }
  return *this;
}

Pending::~Pending() {
  finish();
}

void Pending::wait() {
  if (work_ == nullptr) return;
  const std::unique_ptr<Work> work = std::move(work_);
  work->wait();
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
  Call call{.kind = CallKind::all_reduce, .in = in, .out = out, .op = op, .options = options};
  check_views(call);
  if (in.count() != out.count()) refuse(call, "in and out must have one count");
  check_overlap(call, in.data, out.data);
  return submit(call);
}

Pending Communicator::all_gather(ConstTensorView in, TensorView out, const CallOptions& options) {
  Call call{.kind = CallKind::all_gather, .in = in, .out = out, .options = options};
  check_views(call);
  if (out.count() != times(in.count(), size_)) {
    refuse(call, fmt::format("out must have {} x in's count for {} ranks", size_, size_));
  }
  check_overlap(call, in.data, out.data + offset_of_share(in, rank_));
  return submit(call);
}

Pending Communicator::reduce_scatter(ConstTensorView in, TensorView out, ReduceOp op,
                                     const CallOptions& options) {
  Call call{.kind = CallKind::reduce_scatter, .in = in, .out = out, .op = op, .options = options};
  check_views(call);
  if (in.count() != times(out.count(), size_)) {
    refuse(call, fmt::format("in must have {} x out's count for {} ranks", size_, size_));
  }
  check_overlap(call, in.data + offset_of_share(out, rank_), out.data);
  return submit(call);
}

Pending Communicator::broadcast(TensorView data, int root, const CallOptions& options) {
  Call call{.kind = CallKind::broadcast, .in = data, .out = data, .root = root, .options = options};
  check_views(call);
  if (root < 0 || root >= size_) {
    refuse(call, fmt::format("root {} is not a rank of a group of {}", root, size_));
  }
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
  call.sequence = sequences_[static_cast<std::size_t>(lane)]++;
  const bool has_nothing_to_move = call.kind != CallKind::barrier && call.in.count() == 0;
  return has_nothing_to_move ? Pending() : do_call(call);
}

}  // namespace muster::collectives
