#include "collectives/algorithms/algorithms.hpp"
#include "collectives/algorithms/bruck.hpp"
#include "collectives/algorithms/pairwise_reduction.hpp"
#include "kernels/ops/reduce.hpp"

/// The reductions in rank order: what is reduced by whom, and where results go.
namespace muster::collectives::algorithms {

void all_reduce_direct(Lane& lane, const Call& call) {
  run(lane,
      PairwiseReduction{
          .in = call.in, .out = call.out, .shares = same_shares(lane, call.count), .op = call.op});
}

void all_reduce_bruck(Lane& lane, const Call& call) {
  const std::span<std::byte> blocks = gather_blocks(lane, call.in);
  const std::span<ConstTensorView> sources = lane.scratch.sources(lane.size());
  for (int block = 0; block < lane.size(); ++block) {
    sources[static_cast<std::size_t>(lane.rank_at(block))] = {
        blocks.data() + static_cast<std::size_t>(block) * call.in.bytes(), call.in.dtype, 1,
        call.count};
  }
  kernels::reduce(lane.device, {.destinations = {&call.out, 1}, .sources = sources, .op = call.op});
}

void all_reduce_pairwise(Lane& lane, const Call& call) {
  run(lane, PairwiseReduction{.in = call.in,
                              .out = call.out,
                              .shares = even_shares(lane, call.count),
                              .op = call.op,
                              .results = Results::to_all});
}

void reduce_scatter_pairwise(Lane& lane, const Call& call) {
  const Shares shares = call.kind == CallKind::reduce_scatter_v
                            ? shares_of(lane, call.out_counts)
                            : even_shares(lane, call.in.count());
  run(lane, PairwiseReduction{.in = call.in,
                              .out = call.out,
                              .out_begin = shares[static_cast<std::size_t>(lane.rank())].begin,
                              .shares = shares,
                              .op = call.op});
}

void reduce_direct(Lane& lane, const Call& call) {
  if (lane.rank() != call.root) {
    lane.transport.receive(call.root, {});
  } else {
    for (int k = 1; k < lane.size(); ++k) lane.transport.send(lane.rank_at(k), {});
  }
  run(lane, PairwiseReduction{.in = call.in,
                              .out = call.out,
                              .shares = root_share(lane, call.count, call.root),
                              .op = call.op});
}

void reduce_pairwise(Lane& lane, const Call& call) {
  run(lane, PairwiseReduction{.in = call.in,
                              .out = call.out,
                              .shares = even_shares(lane, call.count),
                              .op = call.op,
                              .results = Results::to_root,
                              .root = call.root});
}

}  // namespace muster::collectives::algorithms
