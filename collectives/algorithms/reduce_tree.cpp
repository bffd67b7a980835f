#include "collectives/algorithms/algorithms.hpp"
#include "collectives/algorithms/core.hpp"
#include "collectives/algorithms/partial.hpp"
#include "collectives/algorithms/tree.hpp"

namespace muster::collectives::algorithms {
namespace {

// Children in order of places, so that each adds what lies just beyond the sum so far.
void add_up(Lane& lane, const TreePlace& tree, const Call& call) {
  const Partials partials = make_partials(lane, call);
  begin_partial(lane.device, partials.sum, call.in);
  tree.for_each_child_in_order([&](int child, int /*place*/, int /*extent*/) {
    lane.transport.wait(lane.transport.receive(child, bytes_of(partials.received)));
    combine(lane.device, {.mine = partials.sum, .theirs = partials.received, .op = call.op});
  });
  if (tree.is_root()) {
    return finish(lane.device,
                  {.out = call.out, .partial = partials.sum, .op = call.op, .ranks = lane.size()});
  }
  lane.transport.wait(lane.transport.send(tree.parent(), bytes_of(ConstTensorView(partials.sum))));
}

}  // namespace

void reduce_tree(Lane& lane, const Call& call) {
  const TreePlace tree(lane, call.root);
  tree.signal_down(lane);
  in_segments(lane, call, [&](const Call& part) { add_up(lane, tree, part); });
  lane.transport.wait_all();
}

void all_reduce_tree(Lane& lane, const Call& call) {
  const TreePlace tree(lane, 0);
  in_segments(lane, call, [&](const Call& part) {
    add_up(lane, tree, part);
    Call down = part;
    down.in = part.out;
    down.root = 0;
    broadcast_binomial(lane, down);
  });
}

}  // namespace muster::collectives::algorithms
