#pragma once

#include <span>
#include <vector>

#include "collectives/communicator.hpp"
#include "runtime/probe/cluster.hpp"

namespace muster::runtime {

/// A rank's place: hosts are numbered in the order of their lowest rank.
struct RankPlace {
  int host = 0;
  int local_rank = 0;
};

/// A cluster as measured, and what measuring it cost.
struct SurveyResult {
  Cluster cluster;
  double inside_s = 0.0;  // pairs inside hosts
  int rounds = 0;         // of pairs of hosts
  double round_s = 0.0;   // the longest of them
};

/// Measures the links of all hosts. Collective over `world`, of which places[r] tells where rank r
/// is; `local` is the group of this rank's host, or nullptr where the rank is alone on it. `hosts`
/// names them, with racks where known; the cluster has the same hosts, and is the same on all
/// ranks.
///
/// First every host measures the pairs of its own ranks, all hosts at once, for the best of them;
/// then the hosts' first ranks meet in rounds of disjoint pairs while the others wait (pair_rounds,
/// about 0.1 s each at 1 Gbit/s, less on faster links); then what looks slow is measured again in
/// up to four rounds.
SurveyResult survey(collectives::Communicator& world, collectives::Communicator* local,
                    std::span<const RankPlace> places, std::vector<ClusterHost> hosts);

}  // namespace muster::runtime
