#include "collectives/algorithms/algorithms.hpp"
#include "collectives/algorithms/ring.hpp"

namespace muster::collectives::algorithms {

void all_reduce_ring(Lane& lane, const Call& call) {
  run(lane, Ring{.in = call.in,
                 .out = call.out,
                 .shares = even_shares(lane, call.count),
                 .reduces = true,
                 .gathers = true,
                 .op = call.op});
}

void reduce_scatter_ring(Lane& lane, const Call& call) {
  const Shares shares = call.kind == CallKind::reduce_scatter_v
                            ? shares_of(lane, call.out_counts)
                            : even_shares(lane, call.in.count());
  run(lane, Ring{.in = call.in,
                 .out = call.out,
                 .out_begin = shares[static_cast<std::size_t>(lane.rank())].begin,
                 .shares = shares,
                 .reduces = true,
                 .op = call.op});
}

}  // namespace muster::collectives::algorithms
