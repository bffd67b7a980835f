#pragma once

#include <array>

#include "collectives/algorithms/lane.hpp"

namespace muster::collectives::algorithms {

/// Step k of n - 1: sends outgoing(r + k) to r + k and receives incoming(r - k) from r - k, some
/// steps at once. Both are functions of a rank and give the bytes.
template <typename Outgoing, typename Incoming>
void exchange_pairwise(Lane& lane, Outgoing&& outgoing, Incoming&& incoming) {
  constexpr int kStepsAtOnce = 4;
  std::array<std::array<Transport::Ticket, 2>, kStepsAtOnce> steps;
  for (int k = 1; k < lane.size(); ++k) {
    auto& step = steps[static_cast<std::size_t>(k % kStepsAtOnce)];
    if (k > kStepsAtOnce) {
      for (const Transport::Ticket ticket : step) lane.transport.wait(ticket);
    }
    const int to = lane.rank_at(k);
    const int from = lane.rank_at(-k);
    step = {lane.transport.receive(from, incoming(from)), lane.transport.send(to, outgoing(to))};
  }
  lane.transport.wait_all();
}

}  // namespace muster::collectives::algorithms
