#include "collectives/hierarchy/steps.hpp"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <span>

#include "collectives/average.hpp"
#include "kernels/ops/reduce.hpp"

namespace muster::collectives {
namespace {

constexpr std::size_t kSmallBytes = std::size_t{64} * 1024;

// An average is a sum whose division comes last.
ReduceOp first_op(ReduceOp op) {
  return op == ReduceOp::avg ? ReduceOp::sum : op;
}

std::int64_t sum_of(std::span<const std::int64_t> counts) {
  return std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
}

}  // namespace

Steps::Steps(const HostLayout& layout, const HostGroups& groups, int rank, kernels::Device& device)
    : layout_(layout),
      groups_(groups),
      rank_(rank),
      local_rank_(layout.local_rank_of(rank)),
      device_(device),
      counts_(layout.ranks_of(layout.host_of(rank)).size()),
      host_counts_(static_cast<std::size_t>(layout.hosts())) {}

void Steps::run(const Call& call, Deadline deadline) {
  deadline_ = deadline;
  signature_ = compared(signature_with_counts(call), call.options);
  switch (call.kind) {
    case CallKind::all_reduce: return all_reduce(call);
    case CallKind::broadcast: return broadcast(call);
    case CallKind::reduce: return reduce(call);
    case CallKind::barrier:
    case CallKind::allocate: return barrier(call);
    case CallKind::all_gather:
    case CallKind::all_gather_v: return layout_.is_contiguous() ? all_gather(call) : flat(call);
    case CallKind::reduce_scatter:
      return layout_.is_contiguous() ? reduce_scatter(call) : flat(call);
    case CallKind::reduce_scatter_v:
    case CallKind::gather:
    case CallKind::scatter:
    case CallKind::all_to_all:
    case CallKind::all_to_all_v:
    case CallKind::send_receive: return flat(call);
  }
}

CallOptions Steps::options(const Call& call) const {
  constexpr double kLeast = 1e-3;
  CallOptions options = call.options;
  options.step_of = &signature_;
  options.timeout_s =
      std::max(kLeast, std::chrono::duration<double>(deadline_.remaining()).count());
  return options;
}

void Steps::all_reduce(const Call& call) {
  const ReduceOp op = first_op(call.op);
  if (call.in.bytes() <= kSmallBytes) return all_reduce_small(call, op);
  all_reduce_large(call, op);
}

void Steps::all_reduce_small(const Call& call, ReduceOp op) {
  local_reduce(call.in, call.out, op, 0, call);
  if (is_leader()) {
    groups_.column->all_reduce(call.out, call.out, op, options(call)).wait();
    if (call.op == ReduceOp::avg) divide(call.out, groups_.flat->size());
  }
  local_broadcast(call.out, 0, call);
}

void Steps::all_reduce_large(const Call& call, ReduceOp op) {
  const Counts& counts = parts(call.in.count());
  const auto mine = static_cast<std::size_t>(local_rank_);
  const std::int64_t begin = sum_of(std::span(counts).first(mine));
  const TensorView part = call.out.cols_from(begin, counts[mine]);
  if (groups_.local != nullptr) {
    groups_.local->reduce_scatter_v(call.in, part, counts, op, options(call)).wait();
  } else {
    copy(call.in, call.out);
  }
  if (has_column()) groups_.column->all_reduce(part, part, op, options(call)).wait();
  if (call.op == ReduceOp::avg) divide(part, groups_.flat->size());
  if (groups_.local != nullptr) {
    groups_.local->all_gather_v(part, call.out, counts, options(call)).wait();
  }
}

void Steps::broadcast(const Call& call) {
  const int root_host = layout_.host_of(call.root);
  if (host() == root_host) local_broadcast(call.out, layout_.local_rank_of(call.root), call);
  if (call.out.bytes() <= kSmallBytes) {
    if (is_leader()) groups_.column->broadcast(call.out, root_host, options(call)).wait();
    if (host() != root_host) local_broadcast(call.out, 0, call);
    return;
  }
  const Counts& counts = parts(call.out.count());
  const auto mine = static_cast<std::size_t>(local_rank_);
  const TensorView part = call.out.cols_from(sum_of(std::span(counts).first(mine)), counts[mine]);
  if (has_column()) groups_.column->broadcast(part, root_host, options(call)).wait();
  if (host() == root_host || groups_.local == nullptr) return;
  groups_.local->all_gather_v(part, call.out, counts, options(call)).wait();
}

void Steps::reduce(const Call& call) {
  const ReduceOp op = first_op(call.op);
  const int root_host = layout_.host_of(call.root);
  const int local_root = layout_.local_rank_of(call.root);
  const bool is_root = rank_ == call.root;
  const TensorView partial =
      is_root && is_leader() ? call.out : scratch(call.in.dtype, is_leader() ? call.in.count() : 0);
  local_reduce(call.in, partial, op, 0, call);
  if (is_leader()) {
    groups_.column->reduce(partial, partial, op, root_host, options(call)).wait();
    const bool has_result = host() == root_host;
    if (has_result && call.op == ReduceOp::avg) divide(partial, groups_.flat->size());
    if (has_result && !is_root) groups_.local->send(partial, local_root, options(call)).wait();
  } else if (is_root) {
    groups_.local->receive(call.out, 0, options(call)).wait();
  }
}

void Steps::all_gather(const Call& call) {
  const auto count_of = [&call](int rank) {
    return call.kind == CallKind::all_gather_v ? call.out_counts[static_cast<std::size_t>(rank)]
                                               : call.in.count();
  };
  std::int64_t begin = 0;  // of this host's block
  for (int other = 0; other < layout_.hosts(); ++other) {
    std::int64_t& sum = host_counts_[static_cast<std::size_t>(other)] = 0;
    for (const int rank : layout_.ranks_of(other)) sum += count_of(rank);
    if (other < host()) begin += sum;
  }
  const TensorView block =
      call.out.cols_from(begin, host_counts_[static_cast<std::size_t>(host())]);
  if (groups_.local != nullptr) {
    const std::vector<int>& ranks = layout_.ranks_of(host());
    std::transform(ranks.begin(), ranks.end(), counts_.begin(), count_of);
    groups_.local->all_gather_v(call.in, block, counts_, options(call)).wait();
  } else {
    copy(call.in, block);
  }
  if (is_leader()) {
    groups_.column->all_gather_v(block, call.out, host_counts_, options(call)).wait();
  }
  local_broadcast(call.out, 0, call);
}

void Steps::reduce_scatter(const Call& call) {
  const ReduceOp op = first_op(call.op);
  const std::int64_t share = call.out.count();
  for (int other = 0; other < layout_.hosts(); ++other) {
    host_counts_[static_cast<std::size_t>(other)] =
        share * static_cast<std::int64_t>(layout_.ranks_of(other).size());
  }
  const std::int64_t block = host_counts_[static_cast<std::size_t>(host())];
  const std::int64_t whole = call.in.count();
  const TensorView space = scratch(call.in.dtype, is_leader() ? whole : 0);
  local_reduce(call.in, space, op, 0, call);
  TensorView result = space;
  if (is_leader()) {
    const std::int64_t begin =
        sum_of(std::span(host_counts_).first(static_cast<std::size_t>(host())));
    result = space.cols_from(begin, block);
    groups_.column->reduce_scatter_v(space, result, host_counts_, op, options(call)).wait();
    if (call.op == ReduceOp::avg) divide(result, groups_.flat->size());
  }
  if (groups_.local != nullptr) {
    groups_.local->scatter(result, call.out, 0, options(call)).wait();
  } else {
    copy(result, call.out);
  }
}

void Steps::barrier(const Call& call) {
  if (groups_.local != nullptr) groups_.local->barrier(options(call));
  if (is_leader()) groups_.column->barrier(options(call));
  if (groups_.local != nullptr) groups_.local->barrier(options(call));
}

void Steps::flat(const Call& call) {
  Communicator& group = *groups_.flat;
  const CallOptions left = options(call);
  switch (call.kind) {
    case CallKind::all_gather: return group.all_gather(call.in, call.out, left).wait();
    case CallKind::all_gather_v:
      return group.all_gather_v(call.in, call.out, call.out_counts, left).wait();
    case CallKind::reduce_scatter:
      return group.reduce_scatter(call.in, call.out, call.op, left).wait();
    case CallKind::reduce_scatter_v:
      return group.reduce_scatter_v(call.in, call.out, call.out_counts, call.op, left).wait();
    case CallKind::gather: return group.gather(call.in, call.out, call.root, left).wait();
    case CallKind::scatter: return group.scatter(call.in, call.out, call.root, left).wait();
    case CallKind::all_to_all: return group.all_to_all(call.in, call.out, left).wait();
    case CallKind::all_to_all_v:
      return group.all_to_all_v(call.in, call.out, call.in_counts, call.out_counts, left).wait();
    case CallKind::send_receive: {
      if (call.from == Call::kNobody) return group.send(call.in, call.to, left).wait();
      if (call.to == Call::kNobody) return group.receive(call.out, call.from, left).wait();
      return group.send_receive(call.in, call.to, call.out, call.from, left).wait();
    }
    default: throw Error(ErrorCode::internal, "a call that has steps of its own came to flat()");
  }
}

void Steps::local_reduce(ConstTensorView in, TensorView out, ReduceOp op, int root,
                         const Call& call) {
  if (groups_.local == nullptr) return copy(in, out);
  groups_.local->reduce(in, out, op, root, options(call)).wait();
}

void Steps::local_broadcast(TensorView data, int root, const Call& call) {
  if (groups_.local != nullptr) groups_.local->broadcast(data, root, options(call)).wait();
}

// A reduction of one source is a copy, bit by bit.
void Steps::copy(ConstTensorView from, TensorView to) {
  if (from.data == to.data || from.count() == 0) return;
  kernels::reduce(device_, {.destinations = {&to, 1}, .sources = {&from, 1}});
}

TensorView Steps::scratch(Dtype dtype, std::int64_t count) {
  const std::size_t bytes = static_cast<std::size_t>(count) * size_of(dtype);
  if (bytes > scratch_.bytes()) {
    scratch_ = device_.memory().allocate(bytes, "partial results of a host");
  }
  return {scratch_.data(), dtype, 1, count};
}

const Steps::Counts& Steps::parts(std::int64_t count) {
  const auto columns = static_cast<std::int64_t>(layout_.columns());
  for (std::size_t rank = 0; rank < counts_.size(); ++rank) {
    const auto column = static_cast<std::int64_t>(rank);
    counts_[rank] = column < columns ? count / columns + (column < count % columns ? 1 : 0) : 0;
  }
  return counts_;
}

}  // namespace muster::collectives
