#include "runtime/pairs/slow_ends.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>

namespace muster::runtime {
namespace {

using Pair = std::pair<int, int>;

Pair ordered(int a, int b) {
  return {std::min(a, b), std::max(a, b)};
}

class Judge {
 public:
  explicit Judge(std::span<const int> rack_of_host)
      : racks_(rack_of_host), cost_(rack_of_host.size(), kUnknown) {}

  std::vector<Finding> judge(std::span<const PairCost> costs) {
    compare_with_level(costs);
    rate_hosts();
    name_hosts();
    name_links();
    return std::move(findings_);
  }

  // To be called after judge().
  std::vector<Pair> suspects(bool links_only) {
    std::vector<Pair> pairs = slow_pairs_;
    if (links_only) return pairs;
    for (const auto& [pair, ratio] : ratio_) {
      const auto [a, b] = pair;
      const bool is_best_of_slow =
          (is_slow(a) && ratio <= cost(a)) || (is_slow(b) && ratio <= cost(b));
      if (is_best_of_slow) pairs.push_back(pair);
    }
    return pairs;
  }

 private:
  static constexpr double kUnknown = std::numeric_limits<double>::infinity();

  int rack(int host) const { return racks_[static_cast<std::size_t>(host)]; }
  double& cost(int host) { return cost_[static_cast<std::size_t>(host)]; }
  bool is_slow(int host) { return cost(host) > kSlowFactor; }

  // The least of what each pair took, in units of its level's reference.
  void compare_with_level(std::span<const PairCost> costs) {
    std::vector<double> of_level[2];
    for (const PairCost& pair : costs) {
      of_level[rack(pair.a) != rack(pair.b)].push_back(pair.seconds);
    }
    const double reference[2] = {low_quantile(of_level[0]), low_quantile(of_level[1])};
    for (const PairCost& pair : costs) {
      const double ratio = pair.seconds / reference[rack(pair.a) != rack(pair.b)];
      const auto [place, is_new] = ratio_.emplace(ordered(pair.a, pair.b), ratio);
      if (!is_new) place->second = std::min(place->second, ratio);
    }
  }

  void rate_hosts() {
    for (const auto& [pair, ratio] : ratio_) {
      for (const int host : {pair.first, pair.second}) cost(host) = std::min(cost(host), ratio);
    }
  }

  void name_hosts() {
    for (int host = 0; host < static_cast<int>(cost_.size()); ++host) {
      if (cost(host) == kUnknown || !is_slow(host)) continue;
      findings_.push_back(
          {.kind = FindingKind::slow_host, .a = host, .b = host, .factor = cost(host)});
    }
  }

  struct RackPair {
    int measured = 0;
    std::vector<Finding> slow;
  };

  void name_links() {
    std::map<Pair, RackPair> between_racks;
    for (const auto& [pair, ratio] : ratio_) {
      const auto [a, b] = pair;
      if (is_slow(a) || is_slow(b)) continue;
      RackPair& racks = between_racks[ordered(rack(a), rack(b))];
      ++racks.measured;
      if (ratio <= kSlowFactor * std::max({cost(a), cost(b), 1.0})) continue;
      slow_pairs_.push_back(pair);
      racks.slow.push_back({.kind = FindingKind::slow_link, .a = a, .b = b, .factor = ratio});
    }
    for (auto& [racks, pairs] : between_racks) {
      const auto slow = static_cast<int>(pairs.slow.size());
      const bool is_uplink = racks.first != racks.second && slow > 1 && slow * 2 >= pairs.measured;
      if (is_uplink) {
        const auto least = std::min_element(
            pairs.slow.begin(), pairs.slow.end(),
            [](const Finding& x, const Finding& y) { return x.factor < y.factor; });
        findings_.push_back(*least);
        findings_.back().kind = FindingKind::slow_uplink;
      } else {
        findings_.insert(findings_.end(), pairs.slow.begin(), pairs.slow.end());
      }
    }
  }

  std::span<const int> racks_;
  std::vector<double> cost_;      // [hosts] c
  std::map<Pair, double> ratio_;  // t
  std::vector<Finding> findings_;
  std::vector<Pair> slow_pairs_;  // single ones and those of uplinks
};

}  // namespace

double low_quantile(std::vector<double> values) {
  if (values.empty()) return 0.0;
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 5);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

std::vector<Finding> find_slow(std::span<const PairCost> costs, std::span<const int> rack_of_host) {
  return Judge(rack_of_host).judge(costs);
}

std::vector<std::vector<int>> recheck_rounds(std::span<const std::vector<PairCost>> kinds,
                                             std::span<const int> rack_of_host, int most_rounds,
                                             bool links_only) {
  std::set<Pair> suspects;
  for (const std::vector<PairCost>& costs : kinds) {
    Judge judge(rack_of_host);
    judge.judge(costs);
    for (const Pair& pair : judge.suspects(links_only)) suspects.insert(pair);
  }
  std::vector<std::vector<int>> rounds;
  for (const auto& [a, b] : suspects) {
    const auto is_free = [a = static_cast<std::size_t>(a),
                          b = static_cast<std::size_t>(b)](const std::vector<int>& round) {
      return round[a] < 0 && round[b] < 0;
    };
    auto round = std::find_if(rounds.begin(), rounds.end(), is_free);
    if (round == rounds.end()) {
      if (static_cast<int>(rounds.size()) == most_rounds) continue;
      round = rounds.insert(round, std::vector<int>(rack_of_host.size(), -1));
    }
    (*round)[static_cast<std::size_t>(a)] = b;
    (*round)[static_cast<std::size_t>(b)] = a;
  }
  return rounds;
}

}  // namespace muster::runtime
