#include <numeric>

#include <fmt/format.h>

#include "collectives/call_check.hpp"
#include "collectives/communicator.hpp"

/// The calls whose sizes differ from rank to rank.
namespace muster::collectives {
namespace {

using Counts = std::span<const std::int64_t>;

std::int64_t count_of(Counts counts, int rank) {
  return counts[static_cast<std::size_t>(rank)];
}

// Elements before the share of `rank`.
std::int64_t offset_of(Counts counts, int rank) {
  return std::accumulate(counts.begin(), counts.begin() + rank, std::int64_t{0});
}

void check_extent(const Call& call, std::string_view name, ConstTensorView view,
                  std::int64_t count) {
  if (view.count() == count) return;
  refuse(call, fmt::format("{} must have {} elements by the counts given", name, count));
}

template <typename View>
auto begin_of_share(const View& whole, Counts counts, int rank) {
  const auto bytes = static_cast<std::size_t>(offset_of(counts, rank)) * size_of(whole.dtype);
  return share_of(whole, bytes, 1);
}

}  // namespace

Pending Communicator::all_gather_v(ConstTensorView in, TensorView out, Counts counts,
                                   const CallOptions& options) {
  Call call{.kind = CallKind::all_gather_v,
            .in = in,
            .out = out,
            .out_counts = counts,
            .options = options};
  check_views(call);
  call.count = check_counts(call, counts, size_, "counts");
  check_extent(call, "in", in, count_of(counts, rank_));
  check_extent(call, "out", out, call.count);
  check_overlap(call, in.data, begin_of_share(out, counts, rank_));
  return submit(call);
}

Pending Communicator::reduce_scatter_v(ConstTensorView in, TensorView out, Counts counts,
                                       ReduceOp op, const CallOptions& options) {
  Call call{.kind = CallKind::reduce_scatter_v,
            .in = in,
            .out = out,
            .op = op,
            .out_counts = counts,
            .options = options};
  check_views(call);
  call.count = check_counts(call, counts, size_, "counts");
  check_extent(call, "in", in, call.count);
  check_extent(call, "out", out, count_of(counts, rank_));
  check_overlap(call, begin_of_share(in, counts, rank_), out.data);
  return submit(call);
}

Pending Communicator::all_to_all_v(ConstTensorView in, TensorView out, Counts in_counts,
                                   Counts out_counts, const CallOptions& options) {
  Call call{.kind = CallKind::all_to_all_v,
            .in = in,
            .out = out,
            .in_counts = in_counts,
            .out_counts = out_counts,
            .options = options};
  check_views(call);
  check_extent(call, "in", in, check_counts(call, in_counts, size_, "in_counts"));
  check_extent(call, "out", out, check_counts(call, out_counts, size_, "out_counts"));
  if (overlap(in, out)) refuse(call, "in and out overlap");
  if (count_of(in_counts, rank_) != count_of(out_counts, rank_)) {
    refuse(call, fmt::format("rank {} sends itself {} elements and expects {}", rank_,
                             count_of(in_counts, rank_), count_of(out_counts, rank_)));
  }
  return submit(call);
}

Pending Communicator::send_receive(ConstTensorView out, int to, TensorView in, int from,
                                   const CallOptions& options) {
  Call call{.kind = CallKind::send_receive,
            .in = out,
            .out = in,
            .to = to,
            .from = from,
            .options = options};
  check_views(call);
  check_rank(call, to, size_, "to");
  check_rank(call, from, size_, "from");
  if (overlap(out, in)) refuse(call, "in and out overlap");
  if ((to == rank_) != (from == rank_)) refuse(call, "a rank is its own partner only as both");
  if (to == rank_ && in.count() != out.count()) refuse(call, "in and out must have one count");
  return submit(call);
}

Pending Communicator::send(ConstTensorView data, int to, const CallOptions& options) {
  Call call{.kind = CallKind::send_receive,
            .in = data,
            .out = TensorView(nullptr, data.dtype, 1, 0),
            .to = to,
            .options = options};
  check_views(call);
  check_rank(call, to, size_, "to");
  if (to == rank_) refuse(call, "a rank cannot send to itself alone");
  return submit(call);
}

Pending Communicator::receive(TensorView data, int from, const CallOptions& options) {
  Call call{.kind = CallKind::send_receive,
            .in = ConstTensorView(nullptr, data.dtype, 1, 0),
            .out = data,
            .from = from,
            .options = options};
  check_views(call);
  check_rank(call, from, size_, "from");
  if (from == rank_) refuse(call, "a rank cannot receive from itself alone");
  return submit(call);
}

}  // namespace muster::collectives
