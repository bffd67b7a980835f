#include "tests/support/probe_simulation.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <set>

#include "runtime/pairs/pair_rounds.hpp"
#include "runtime/pairs/slow_ends.hpp"

namespace muster::test {
namespace {

using runtime::Finding;
using runtime::FindingKind;
using runtime::PairCost;
using Racks = std::set<int>;

class Simulation {
 public:
  explicit Simulation(const SimulatedNetwork& network) : network_(network), random_(network.seed) {
    while (static_cast<int>(slow_hosts_.size()) < network.slow_hosts) {
      slow_hosts_.insert(below(network.hosts));
    }
    const int racks = network.hosts / network.hosts_per_rack;
    int levels = 0;
    while ((2 << levels) <= racks) ++levels;
    while (static_cast<int>(slow_uplinks_.size()) < network.slow_uplinks) {
      const int rack = below(racks);
      slow_uplinks_.insert({rack, rack ^ (1 << below(levels))});
    }
  }

  SimulationOutcome run() {
    std::vector<int> rack_of_host;
    rack_of_host.reserve(static_cast<std::size_t>(network_.hosts));
    for (int host = 0; host < network_.hosts; ++host) rack_of_host.push_back(rack(host));
    SimulationOutcome outcome{.planted_hosts = {slow_hosts_.begin(), slow_hosts_.end()}};
    for (const Racks& racks : slow_uplinks_) {
      outcome.planted_uplinks.emplace_back(racks.begin(), racks.end());
    }
    std::vector<PairCost> costs;
    for (const auto& round : runtime::pair_rounds(network_.hosts)) measure(round, costs);
    for (int pass = 0; pass < runtime::kRecheckPasses; ++pass) {
      const std::vector<std::vector<PairCost>> kinds = {costs};
      for (const auto& round :
           runtime::recheck_rounds(kinds, rack_of_host, runtime::kRecheckRounds, pass > 0)) {
        measure(round, costs);
      }
    }
    for (const Finding& finding : runtime::find_slow(costs, rack_of_host)) {
      switch (finding.kind) {
        case FindingKind::slow_host: outcome.named_hosts.push_back(finding.a); break;
        case FindingKind::slow_link: ++outcome.named_links; break;
        case FindingKind::slow_uplink: {
          const Racks racks{rack(finding.a), rack(finding.b)};
          outcome.named_uplinks.emplace_back(racks.begin(), racks.end());
        }
      }
    }
    std::sort(outcome.named_hosts.begin(), outcome.named_hosts.end());
    std::sort(outcome.named_uplinks.begin(), outcome.named_uplinks.end());
    return outcome;
  }

 private:
  int rack(int host) const { return host / network_.hosts_per_rack; }
  int below(int limit) { return std::uniform_int_distribution<int>(0, limit - 1)(random_); }

  double true_cost(int a, int b) const {
    const bool is_slow = slow_hosts_.contains(a) || slow_hosts_.contains(b) ||
                         (rack(a) != rack(b) && slow_uplinks_.contains({rack(a), rack(b)}));
    return (rack(a) == rack(b) ? 8.0 : 10.0) * (is_slow ? network_.slowdown : 1.0);
  }

  double sample(double cost) {
    const double noise = std::exp(std::normal_distribution<double>(0.03, 0.03)(random_));
    const bool is_spike =
        std::uniform_real_distribution<double>(0.0, 1.0)(random_) < network_.spike_odds;
    const double spike =
        is_spike ? std::uniform_real_distribution<double>(3.0, 50.0)(random_) : 1.0;
    return cost * noise * spike;
  }

  void measure(const std::vector<int>& partners, std::vector<PairCost>& costs) {
    for (int host = 0; host < network_.hosts; ++host) {
      const int partner = partners[static_cast<std::size_t>(host)];
      if (partner <= host) continue;
      double least = std::numeric_limits<double>::infinity();
      for (int i = 0; i < network_.samples; ++i) {
        least = std::min(least, sample(true_cost(host, partner)));
      }
      costs.push_back({host, partner, least});
    }
  }

  SimulatedNetwork network_;
  std::mt19937_64 random_;
  std::set<int> slow_hosts_;
  std::set<Racks> slow_uplinks_;
};

}  // namespace

SimulationOutcome simulate_probe(const SimulatedNetwork& network) {
  return Simulation(network).run();
}

}  // namespace muster::test
