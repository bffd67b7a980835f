#include "collectives/algorithms/algorithms.hpp"

namespace muster::collectives::algorithms {

void barrier(Lane& lane, const Call& /*call*/) {
  for (int distance = 1; distance < lane.size(); distance *= 2) {
    lane.transport.send(lane.rank_at(distance), {});
    lane.transport.receive(lane.rank_at(-distance), {});
    lane.transport.wait_all();
  }
}

}  // namespace muster::collectives::algorithms
