#pragma once

#include <cstdint>
#include <vector>

namespace muster::test {

/// A cluster that exists only in numbers, with faults planted in it.
struct SimulatedNetwork {
  int hosts = 512;
  int hosts_per_rack = 16;
  int slow_hosts = 3;
  int slow_uplinks = 2;
  double slowdown = 2.5;
  int samples = 4;          // per pair, of which the minimum counts
  double spike_odds = 0.2;  // of a sample that something else takes 3 to 50 times as long
  std::uint64_t seed = 1;
};

/// What was planted and what was named.
struct SimulationOutcome {
  std::vector<int> planted_hosts;
  std::vector<int> named_hosts;
  std::vector<std::vector<int>> planted_uplinks;  // two racks each, ascending
  std::vector<std::vector<int>> named_uplinks;
  int named_links = 0;  // single links: nobody planted any

  bool is_exact() const {
    return planted_hosts == named_hosts && planted_uplinks == named_uplinks && named_links == 0;
  }
};

/// Measures all rounds of pair_rounds() in the simulated network, those of recheck_rounds(), and
/// lets find_slow() judge.
SimulationOutcome simulate_probe(const SimulatedNetwork& network);

}  // namespace muster::test
