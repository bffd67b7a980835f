#include "runtime/probe/level_fit.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include "kernels/base/random.hpp"
#include "runtime/pairs/slow_ends.hpp"

namespace muster::runtime {
namespace {

constexpr int kResamples = 200;
constexpr int kLeastLinks = 3;
constexpr double kSteady = 1.5;      // median over fastest round trip
constexpr double kMostSpread = 0.1;  // standard deviation over mean
// Latencies that differ by less than about this differ by who was scheduled when.
constexpr double kLatencyGrainS = 100e-6;
constexpr std::uint64_t kKey = 0x6c6576656c;

std::vector<double> resample(const std::vector<double>& values, int number) {
  std::vector<double> drawn(values.size());
  for (std::size_t i = 0; i < drawn.size(); ++i) {
    const auto word = philox(kKey, i, static_cast<std::uint64_t>(number))[0];
    drawn[i] = values[word % values.size()];
  }
  return drawn;
}

Estimate estimate(const std::vector<double>& values) {
  if (values.empty()) return {};
  std::vector<double> results;
  results.reserve(kResamples);
  for (int i = 0; i < kResamples; ++i) results.push_back(low_quantile(resample(values, i)));
  std::sort(results.begin(), results.end());
  constexpr std::size_t kTail = kResamples / 20;
  return {low_quantile(values), results[kTail], results[kResamples - 1 - kTail]};
}

bool is_tight(const std::vector<double>& values) {
  if (values.size() < static_cast<std::size_t>(kLeastLinks)) return false;
  const auto n = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  double squares = 0.0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return std::sqrt(squares / n) <= kMostSpread * mean;
}

struct Links {
  std::vector<double> latencies_s;
  std::vector<double> bytes_per_s;
};

Finding with_value(Finding finding, std::string quantity, double value) {
  finding.quantity = std::move(quantity);
  finding.value = value;
  return finding;
}

// The best value among the pairs of the finding's host, or the pair's own.
template <typename Value>
double value_of(const Cluster& cluster, const Finding& finding, const Value& value) {
  double best = 0.0;
  for (const HostPair& pair : cluster.pairs) {
    const bool is_meant = finding.kind == FindingKind::slow_host
                              ? pair.a == finding.a || pair.b == finding.a
                              : pair.a == finding.a && pair.b == finding.b;
    if (is_meant) best = best == 0.0 ? value(pair) : std::max(best, value(pair));
  }
  return best;
}

void add_slow_pairs(const Cluster& cluster, std::vector<Finding>& findings) {
  const std::vector<int> racks = racks_of(cluster);
  const auto rate = [](const HostPair& pair) { return pair.slower_bytes_per_s(); };
  for (const Finding& finding : find_slow(bandwidth_costs(cluster), racks)) {
    findings.push_back(with_value(finding, "bandwidth", value_of(cluster, finding, rate)));
  }
  // The larger of two latencies is the worse one: the best of a host is its least.
  const auto quickness = [](const HostPair& pair) { return 1.0 / pair.latency_s; };
  for (const Finding& finding : find_slow(latency_costs(cluster), racks)) {
    findings.push_back(with_value(finding, "latency", 1.0 / value_of(cluster, finding, quickness)));
  }
}

void add_slow_insides(const Cluster& cluster, std::vector<Finding>& findings) {
  std::vector<double> costs;
  for (const ClusterHost& host : cluster.hosts) {
    if (host.bytes_per_s > 0.0) costs.push_back(1.0 / host.bytes_per_s);
  }
  if (costs.size() < static_cast<std::size_t>(kLeastLinks)) return;
  const double reference = low_quantile(costs);
  for (int i = 0; i < static_cast<int>(cluster.hosts.size()); ++i) {
    const double rate = cluster.hosts[static_cast<std::size_t>(i)].bytes_per_s;
    if (rate <= 0.0 || 1.0 / rate <= kSlowFactor * reference) continue;
    findings.push_back({.kind = FindingKind::slow_host,
                        .quantity = "shared memory",
                        .a = i,
                        .b = i,
                        .factor = 1.0 / rate / reference,
                        .value = rate});
  }
}

}  // namespace

LinkLevel fit_level(std::string name, const std::vector<double>& latencies_s,
                    const std::vector<double>& bytes_per_s) {
  std::vector<double> costs;
  for (const double rate : bytes_per_s) {
    if (rate > 0.0) costs.push_back(1.0 / rate);
  }
  const Estimate cost = estimate(costs);
  LinkLevel level{.name = std::move(name),
                  .links = static_cast<int>(latencies_s.size()),
                  .latency_s = estimate(latencies_s),
                  .is_confident = is_tight(latencies_s) && is_tight(costs)};
  if (cost.value > 0.0) {
    level.bytes_per_s = {1.0 / cost.value, 1.0 / cost.high, 1.0 / cost.low};
  }
  return level;
}

std::vector<int> racks_of(const Cluster& cluster) {
  std::map<std::string, int> numbers;
  std::vector<int> racks;
  racks.reserve(cluster.hosts.size());
  for (const ClusterHost& host : cluster.hosts) {
    racks.push_back(numbers.emplace(host.rack, static_cast<int>(numbers.size())).first->second);
  }
  return racks;
}

std::vector<PairCost> bandwidth_costs(const Cluster& cluster) {
  std::vector<PairCost> costs;
  for (const HostPair& pair : cluster.pairs) {
    const double rate = pair.slower_bytes_per_s();
    if (rate > 0.0) costs.push_back({pair.a, pair.b, 1.0 / rate});
  }
  return costs;
}

std::vector<PairCost> latency_costs(const Cluster& cluster) {
  std::vector<double> all;
  for (const HostPair& pair : cluster.pairs) {
    if (pair.latency_s > 0.0) all.push_back(pair.latency_s + kLatencyGrainS);
  }
  const double sound = all.empty() ? 0.0 : kSlowFactor * low_quantile(all);
  std::vector<PairCost> costs;
  for (const HostPair& pair : cluster.pairs) {
    const double cost = pair.latency_s + kLatencyGrainS;
    const bool is_steady = pair.usual_latency_s <= kSteady * pair.latency_s;
    if (pair.latency_s > 0.0 && (is_steady || cost <= sound)) {
      costs.push_back({pair.a, pair.b, cost});
    }
  }
  return costs;
}

std::vector<LinkLevel> fit_levels(const Cluster& cluster) {
  const std::vector<int> racks = racks_of(cluster);
  Links inside;
  Links between[2];
  for (const ClusterHost& host : cluster.hosts) {
    if (host.latency_s <= 0.0) continue;
    inside.latencies_s.push_back(host.latency_s);
    inside.bytes_per_s.push_back(host.bytes_per_s);
  }
  for (const HostPair& pair : cluster.pairs) {
    const auto rack = [&racks](int host) { return racks[static_cast<std::size_t>(host)]; };
    Links& links = between[rack(pair.a) != rack(pair.b)];
    links.latencies_s.push_back(pair.latency_s);
    links.bytes_per_s.push_back(pair.slower_bytes_per_s());
  }
  std::vector<LinkLevel> levels;
  const auto add = [&levels](const char* name, const Links& links) {
    if (links.latencies_s.empty()) return;
    levels.push_back(fit_level(name, links.latencies_s, links.bytes_per_s));
  };
  add("host", inside);
  add("rack", between[0]);
  add("racks", between[1]);
  return levels;
}

std::vector<Finding> find_slow(const Cluster& cluster) {
  std::vector<Finding> findings;
  add_slow_pairs(cluster, findings);
  add_slow_insides(cluster, findings);
  std::stable_sort(findings.begin(), findings.end(),
                   [](const Finding& x, const Finding& y) { return x.factor > y.factor; });
  return findings;
}

}  // namespace muster::runtime
