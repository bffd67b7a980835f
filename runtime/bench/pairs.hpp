#pragma once

#include <vector>

#include "collectives/communicator.hpp"
#include "runtime/bench/report.hpp"
#include "runtime/world/world.hpp"

namespace muster::runtime {

/// Measures every pair of ranks alone in its round, both directions at once: 8 B and 1 MiB by the
/// least time of repeats, since only noise makes a message slower. Collective; the same on every
/// rank. timeout_s: of one exchange.
PairMatrix measure_pairs(collectives::Communicator& group, double timeout_s);

/// Sentences that name the slow ends and links, with host: what a person should look at. Members:
/// [ranks] of the matrix.
std::vector<std::string> describe_pairs(const PairMatrix& pairs,
                                        const std::vector<Member>& members);

}  // namespace muster::runtime
