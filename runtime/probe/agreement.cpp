#include "runtime/probe/agreement.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "runtime/pairs/pair_rounds.hpp"
#include "runtime/probe/cluster_report.hpp"

namespace muster::runtime {
namespace {

class Comparison {
 public:
  void bandwidth(const std::string& what, double known, double checked) {
    if (known <= 0.0 || checked <= 0.0) return;
    if (std::max(known, checked) <= (1.0 + kBandwidthTolerance) * std::min(known, checked)) return;
    add({.text = text(what, rate_text(known), rate_text(checked)), .is_slower = checked < known});
  }

  void latency(const std::string& what, double known_s, double checked_s) {
    if (known_s <= 0.0 || checked_s <= 0.0) return;
    if (std::max(known_s, checked_s) <= kLatencyFactor * std::min(known_s, checked_s)) return;
    if (std::abs(known_s - checked_s) < kLatencySlackS) return;
    add({.text = text(what, time_text(known_s), time_text(checked_s)),
         .is_slower = checked_s > known_s});
  }

  void add(Disagreement disagreement) {
    if (!found_ || (found_->is_slower && !disagreement.is_slower)) found_ = std::move(disagreement);
  }

  std::optional<Disagreement> found() { return std::move(found_); }

 private:
  static std::string text(const std::string& what, const std::string& known,
                          const std::string& checked) {
    return fmt::format("{}: {}, {} when it was measured", what, checked, known);
  }

  std::optional<Disagreement> found_;
};

bool rests_in_all(const std::vector<std::vector<int>>& rounds, std::size_t host) {
  return std::all_of(rounds.begin(), rounds.end(),
                     [host](const std::vector<int>& partners) { return partners[host] < 0; });
}

}  // namespace

std::optional<Disagreement> find_disagreement(const Cluster& known, const Cluster& checked) {
  Comparison comparison;
  for (std::size_t i = 0; i < known.hosts.size(); ++i) {
    const ClusterHost& host = known.hosts[i];
    const std::string what = fmt::format("inside {}", host.name);
    comparison.bandwidth(what, host.bytes_per_s, checked.hosts[i].bytes_per_s);
    comparison.latency(what, host.latency_s, checked.hosts[i].latency_s);
  }
  std::map<std::pair<int, int>, const HostPair*> pairs;
  for (const HostPair& pair : known.pairs) pairs[{pair.a, pair.b}] = &pair;
  for (const HostPair& pair : checked.pairs) {
    const std::string& a = known.hosts[static_cast<std::size_t>(pair.a)].name;
    const std::string& b = known.hosts[static_cast<std::size_t>(pair.b)].name;
    const auto before = pairs.find({pair.a, pair.b});
    if (before == pairs.end()) {
      comparison.add({.text = fmt::format("{} - {}: was not measured", a, b), .is_slower = false});
      continue;
    }
    comparison.bandwidth(fmt::format("{} to {}", a, b), before->second->ab_bytes_per_s,
                         pair.ab_bytes_per_s);
    comparison.bandwidth(fmt::format("{} to {}", b, a), before->second->ba_bytes_per_s,
                         pair.ba_bytes_per_s);
    comparison.latency(fmt::format("{} - {}", a, b), before->second->latency_s, pair.latency_s);
  }
  return comparison.found();
}

Verdict verdict_of(const std::optional<Disagreement>& disagreement, int attempts, double spent_s) {
  if (!disagreement) return Verdict::agrees;
  const bool may_repeat = attempts < kCheckAttempts && spent_s < kCheckBudgetS;
  return disagreement->is_slower && may_repeat ? Verdict::unclear : Verdict::differs;
}

std::vector<std::vector<int>> check_rounds(int hosts, std::int64_t now_s) {
  const std::vector<std::vector<int>> all = pair_rounds(hosts);
  std::vector<std::vector<int>> chosen;
  if (all.empty()) return chosen;
  const auto first = static_cast<std::size_t>(now_s) % all.size();
  chosen.push_back(all[first]);
  for (std::size_t host = 0; host < static_cast<std::size_t>(hosts); ++host) {
    if (!rests_in_all(chosen, host)) continue;
    const auto meets = std::find_if(
        all.begin(), all.end(), [host](const std::vector<int>& round) { return round[host] >= 0; });
    if (meets != all.end()) chosen.push_back(*meets);
  }
  return chosen;
}

}  // namespace muster::runtime
