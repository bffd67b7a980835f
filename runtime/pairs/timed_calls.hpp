#pragma once

#include <functional>

#include "collectives/communicator.hpp"
#include "collectives/link_profile.hpp"

namespace muster::runtime {

/// Seconds that `call` takes, which every rank of the group makes at the same time: the least of
/// 3 to `most` repeats, as many as the budget allows, then the slowest rank's. Collective; the same
/// number on all ranks.
double time_together(collectives::Communicator& group, double budget_s, int most,
                     const std::function<void()>& call);

/// What the slowest link does between ranks that follow each other, each sending and receiving: the
/// time of 8 B, and of 1 MiB what is beyond that, per byte. Defaults for a group of one, and where
/// 1 MiB is no slower than 8 B. Collective; the same on all ranks; takes about twice the budget.
collectives::LinkProfile measure_neighbours(collectives::Communicator& group, double budget_s);

}  // namespace muster::runtime
