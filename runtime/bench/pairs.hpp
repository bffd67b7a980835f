#pragma once

#include <vector>

#include "collectives/communicator.hpp"
#include "runtime/bench/report.hpp"
#include "runtime/world/world.hpp"

namespace muster::runtime {

/// Partner of `rank` in round `round` of a tournament in which every pair of `ranks` meets exactly
/// once and nobody meets two at a time; -1 in the rounds that a rank of an odd number sits out.
/// (The circle method: one rank stays, the others move on by one place each round.)
int tournament_partner(int rank, int round, int ranks);
/// n - 1 rounds for an even number of ranks, n for an odd one.
int tournament_rounds(int ranks);

/// Measures every pair of ranks alone in its round, both directions at once: 8 B and 1 MiB by the
/// least time of repeats, since only noise makes a message slower. Collective; the same on every
/// rank. timeout_s: of one exchange.
PairMatrix measure_pairs(collectives::Communicator& group, double timeout_s);

/// Sentences that name the slow ends and links, with host: what a person should look at. Members:
/// [ranks] of the matrix.
std::vector<std::string> describe_pairs(const PairMatrix& pairs,
                                        const std::vector<Member>& members);

}  // namespace muster::runtime
