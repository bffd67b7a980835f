#include "collectives/algorithms/algorithms.hpp"
#include "collectives/algorithms/core.hpp"
#include "collectives/algorithms/partial.hpp"

namespace muster::collectives::algorithms {
namespace {

void add_up(Lane& lane, const Core& core, const Call& call, const Partials& partials) {
  for (int bit = 1; bit < core.size(); bit *= 2) {
    const int other = core.rank_of(core.number() ^ bit);
    lane.transport.receive(other, bytes_of(partials.received));
    lane.transport.send(other, bytes_of(ConstTensorView(partials.sum)));
    lane.transport.wait_all();
    combine(lane.device,
            {.mine = partials.sum,
             .theirs = partials.received,
             .order = (core.number() & bit) == 0 ? Order::mine_first : Order::theirs_first,
             .op = call.op});
  }
  finish(lane.device,
         {.out = call.out, .partial = partials.sum, .op = call.op, .ranks = lane.size()});
}

}  // namespace

void all_reduce_doubling(Lane& lane, const Call& call) {
  const Core core(lane);
  in_segments(lane, call, [&](const Call& part) {
    const Partials partials = make_partials(lane, part);
    if (begin_in_core(lane, core, part, partials)) add_up(lane, core, part, partials);
    share_result(lane, core, part);
  });
}

}  // namespace muster::collectives::algorithms
