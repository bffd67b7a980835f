#pragma once

#include <array>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "collectives/communicator.hpp"
#include "runtime/probe/cluster.hpp"
#include "runtime/probe/pair_meter.hpp"

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

/// Whose links are measured.
struct SurveySite {
  collectives::Communicator& world;
  collectives::Communicator* local = nullptr;  // this rank's host; nullptr: it is alone there
  std::span<const RankPlace> places;           // [ranks of world]
  std::vector<ClusterHost> hosts;              // names, ranks, racks where known
};

/// Measures the links of all hosts. All members are collective over the world; what is found is the
/// same on all ranks. The groups outlive it. One thread at a time.
class Survey {
 public:
  explicit Survey(SurveySite site);

  /// A first part: the pairs inside all hosts, and those of `rounds` (in the form of pair_rounds).
  /// May be repeated; of every number the best stays. Returns hosts and pairs measured so far.
  const Cluster& check(const std::vector<std::vector<int>>& rounds);

  /// All of it; what check() measured is not measured again. Once, as the last call.
  ///
  /// First every host measures the pairs of its own ranks, all hosts at once, for the best of them;
  /// then the hosts' first ranks meet in rounds of disjoint pairs while the others wait
  /// (pair_rounds, about 0.1 s each at 1 Gbit/s, less on faster links); then what looks slow is
  /// measured again in up to four rounds. Levels are fitted and findings made.
  SurveyResult finish();

  int hosts() const noexcept { return static_cast<int>(cluster_.hosts.size()); }
  /// What was spent until now; without the cluster.
  const SurveyResult& cost() const noexcept { return result_; }

 private:
  using Row = std::array<double, 5>;  // what a first rank tells of its pair in a round

  const RankPlace& place() const;
  int leader(int host) const { return leaders_[static_cast<std::size_t>(host)]; }
  std::vector<Row> exchange(const Row& mine);
  void measure_inside();
  PairTimes best_inside();
  void measure_round(const std::vector<int>& partners);
  void keep_best(const HostPair& pair);

  SurveySite site_;
  std::vector<int> leaders_;  // [hosts] the first rank of each
  std::optional<PairMeter> meter_;
  Cluster cluster_;
  SurveyResult result_;
  bool is_inside_measured_ = false;
  std::set<std::vector<int>> done_;                   // rounds
  std::map<std::pair<int, int>, std::size_t> index_;  // of a pair in cluster_.pairs
};

}  // namespace muster::runtime
