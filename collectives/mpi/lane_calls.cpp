#include <algorithm>
#include <cstring>
#include <numeric>

#include "collectives/average.hpp"
#include "collectives/mpi/lane.hpp"

/// What MPI is asked to do for each kind of call.
namespace muster::collectives::mpi {
namespace {

// MPI has no averages: a sum, and a division afterwards.
ReduceOp mpi_op(ReduceOp op) {
  return op == ReduceOp::avg ? ReduceOp::sum : op;
}

Operation operation_of(const Call& call) {
  return {.kind = call.kind,
          .dtype = call.in.dtype,
          .op = mpi_op(call.op),
          .in = call.in.data,
          .out = call.out.data,
          .root = call.root};
}

void copy(std::byte* to, const std::byte* from, std::size_t bytes) {
  if (bytes > 0 && to != from) std::memcpy(to, from, bytes);
}

// Bytes [begin, begin + count) of a view, in elements.
template <typename View>
auto part_of(const View& view, std::int64_t begin, std::int64_t count) {
  const View part = view.cols_from(begin, count);
  return std::span(part.data, part.bytes());
}

}  // namespace

void Lane::dispatch(const Call& call) {
  switch (call.kind) {
    case CallKind::barrier:
    case CallKind::allocate: return;  // everyone has come
    case CallKind::all_reduce: return all_reduce(call);
    case CallKind::reduce: return reduce(call);
    case CallKind::broadcast: return do_in_pieces(operation_of(call), call.count);
    case CallKind::all_gather:
    case CallKind::all_gather_v: return all_gather(call);
    case CallKind::reduce_scatter:
    case CallKind::reduce_scatter_v: return reduce_scatter(call);
    case CallKind::gather: return gather(call);
    case CallKind::scatter: return scatter(call);
    case CallKind::all_to_all:
    case CallKind::all_to_all_v: return all_to_all(call);
    case CallKind::send_receive: return send_receive(call);
  }
}

void Lane::all_reduce(const Call& call) {
  Operation operation = operation_of(call);
  operation.is_in_place = are_all_in_place_;
  if (call.in.data == call.out.data && !are_all_in_place_) operation.in = scratch_copy(call.in);
  do_in_pieces(operation, call.count);
  if (call.op == ReduceOp::avg) divide(call.out, context_.size);
}

void Lane::reduce(const Call& call) {
  Operation operation = operation_of(call);
  const bool is_root = context_.rank == call.root;
  operation.is_in_place = is_root && call.in.data == call.out.data;
  do_in_pieces(operation, call.count);
  if (is_root && call.op == ReduceOp::avg) divide(call.out, context_.size);
}

void Lane::all_gather(const Call& call) {
  const Shares shares = shares_of(call.out_counts, call.out);
  const auto rank = static_cast<std::size_t>(context_.rank);
  const auto mine = part_of(call.out, shares.offsets[rank], shares.counts[rank]);
  if (is_small(call.out.bytes())) {
    Operation operation = operation_of(call);
    operation.is_in_place = are_all_in_place_;
    if (call.in.data == mine.data() && !are_all_in_place_) operation.in = scratch_copy(call.in);
    operation.count = static_cast<int>(shares.counts[rank]);
    operation.out_counts = as_ints(shares.counts, 0);
    operation.out_offsets = as_ints(shares.offsets, 1);
    return do_whole(operation);
  }
  copy(mine.data(), call.in.data, mine.size());
  for (int root = 0; root < context_.size; ++root) {
    const auto number = static_cast<std::size_t>(root);
    Operation operation = operation_of(call);
    operation.kind = CallKind::broadcast;
    operation.root = root;
    operation.out = part_of(call.out, shares.offsets[number], shares.counts[number]).data();
    do_in_pieces(operation, shares.counts[number]);
  }
}

void Lane::reduce_scatter(const Call& call) {
  const Shares shares = shares_of(call.out_counts, call.in);
  Operation operation = operation_of(call);
  const bool is_over_input = call.in.count() > 0 && call.out.data >= call.in.data &&
                             call.out.data < call.in.data + call.in.bytes();
  if (is_small(call.in.bytes())) {
    // MPI's own way to work in place puts the result elsewhere.
    if (is_over_input) operation.in = scratch_copy(call.in);
    operation.count = static_cast<int>(call.out.count());
    operation.in_counts = as_ints(shares.counts, 0);
    do_whole(operation);
  } else {
    operation.kind = CallKind::reduce;
    for (int root = 0; root < context_.size; ++root) {
      const auto number = static_cast<std::size_t>(root);
      operation.root = root;
      operation.in = part_of(call.in, shares.offsets[number], shares.counts[number]).data();
      operation.is_in_place = root == context_.rank && is_over_input;
      do_in_pieces(operation, shares.counts[number]);
    }
  }
  if (call.op == ReduceOp::avg) divide(call.out, context_.size);
}

void Lane::gather(const Call& call) {
  const bool is_root = context_.rank == call.root;
  const std::int64_t count = call.in.count();
  const std::byte* const mine =
      is_root ? part_of(call.out, count * context_.rank, count).data() : nullptr;
  if (is_small(call.in.bytes() * static_cast<std::size_t>(context_.size))) {
    Operation operation = operation_of(call);
    operation.is_in_place = is_root && call.in.data == mine;
    operation.count = static_cast<int>(count);
    return do_whole(operation);
  }
  if (!is_root) return exchange({.to = call.root, .out = part_of(call.in, 0, count)});
  for (int rank = 0; rank < context_.size; ++rank) {
    const auto share = part_of(call.out, count * rank, count);
    if (rank == context_.rank) {
      copy(share.data(), call.in.data, share.size());
    } else {
      exchange({.from = rank, .in = share});
    }
  }
}

void Lane::scatter(const Call& call) {
  const bool is_root = context_.rank == call.root;
  const std::int64_t count = call.out.count();
  const std::byte* const mine =
      is_root ? part_of(call.in, count * context_.rank, count).data() : nullptr;
  if (is_small(call.out.bytes() * static_cast<std::size_t>(context_.size))) {
    Operation operation = operation_of(call);
    operation.is_in_place = is_root && call.out.data == mine;
    operation.count = static_cast<int>(count);
    return do_whole(operation);
  }
  if (!is_root) return exchange({.from = call.root, .in = part_of(call.out, 0, count)});
  for (int rank = 0; rank < context_.size; ++rank) {
    const auto share = part_of(call.in, count * rank, count);
    if (rank == context_.rank) {
      copy(call.out.data, share.data(), share.size());
    } else {
      exchange({.to = rank, .out = share});
    }
  }
}

void Lane::all_to_all(const Call& call) {
  const bool is_v = call.kind == CallKind::all_to_all_v;
  if (is_v) agree_on_pairs(call);
  const Shares given = shares_of(call.in_counts, call.in);
  const Shares taken = shares_of(call.out_counts, call.out);
  if (is_v ? is_small(largest_pair_list(call)) : is_small(call.in.bytes())) {
    Operation operation = operation_of(call);
    operation.count = static_cast<int>(given.counts.front());
    operation.in_counts = as_ints(given.counts, 0);
    operation.in_offsets = as_ints(given.offsets, 1);
    operation.out_counts = as_ints(taken.counts, 2);
    operation.out_offsets = as_ints(taken.offsets, 3);
    return do_whole(operation);
  }
  for (int step = 0; step < context_.size; ++step) {
    const int to = (context_.rank + step) % context_.size;
    const int from = (context_.rank + context_.size - step) % context_.size;
    const auto to_number = static_cast<std::size_t>(to);
    const auto from_number = static_cast<std::size_t>(from);
    const auto out = part_of(call.in, given.offsets[to_number], given.counts[to_number]);
    const auto in = part_of(call.out, taken.offsets[from_number], taken.counts[from_number]);
    if (step == 0) {
      copy(in.data(), out.data(), in.size());
    } else {
      exchange({.to = to, .out = out, .from = from, .in = in});
    }
  }
}

void Lane::send_receive(const Call& call) {
  if (call.to == context_.rank) return copy(call.out.data, call.in.data, call.in.bytes());
  if (call.to != Call::kNobody) {
    send_header(call);
    start_send(call.to, part_of(call.in, 0, call.in.count()));
  }
  if (call.from != Call::kNobody) {
    receive_header(call);
    start_receive(call.from, part_of(call.out, 0, call.out.count()));
  }
  finish_messages();
}

const std::byte* Lane::scratch_copy(ConstTensorView view) {
  memory_->scratch.assign(view.data, view.data + view.bytes());
  return memory_->scratch.data();
}

// The bytes of the longest list of any rank, so that all ranks choose alike.
std::size_t Lane::largest_pair_list(const Call& call) const {
  const auto size = static_cast<std::ptrdiff_t>(context_.size);
  std::int64_t largest = 0;
  for (auto list = memory_->pairs.begin(); list != memory_->pairs.end(); list += size) {
    largest = std::max(largest, std::accumulate(list, list + size, std::int64_t{0}));
  }
  return static_cast<std::size_t>(largest) * size_of(call.in.dtype);
}

Lane::Shares Lane::shares_of(std::span<const std::int64_t> counts, ConstTensorView whole) const {
  const auto size = static_cast<std::size_t>(context_.size);
  Shares shares;
  shares.counts.assign(counts.begin(), counts.end());
  if (counts.empty()) shares.counts.assign(size, whole.count() / context_.size);
  shares.offsets.resize(size);
  std::exclusive_scan(shares.counts.begin(), shares.counts.end(), shares.offsets.begin(),
                      std::int64_t{0});
  return shares;
}

std::span<const int> Lane::as_ints(const std::vector<std::int64_t>& values, std::size_t slot) {
  std::vector<int>& ints = memory_->ints[slot];
  ints.clear();
  for (const std::int64_t value : values) ints.push_back(static_cast<int>(value));
  return ints;
}

}  // namespace muster::collectives::mpi
