#include "runtime/probe/cluster_report.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace muster::runtime {
namespace {

const std::string& name_of(const Cluster& cluster, int host) {
  return cluster.hosts[static_cast<std::size_t>(host)].name;
}

std::string describe_level(std::string_view name) {
  if (name == "host") return "inside a host";
  return name == "rack" ? "between hosts" : "between racks";
}

std::string level_table(const Cluster& cluster) {
  std::string text = fmt::format("{:<14} {:>6}  {:>10}  {:>21}  {:>10}  {:>23}\n", "links", "count",
                                 "latency", "90 % interval", "bandwidth", "90 % interval");
  for (const LinkLevel& level : cluster.levels) {
    const auto interval = [](const std::string& low, const std::string& high) {
      return fmt::format("{} .. {}", low, high);
    };
    text +=
        fmt::format("{:<14} {:>6}  {:>10}  {:>21}  {:>10}  {:>23}{}\n", describe_level(level.name),
                    level.links, time_text(level.latency_s.value),
                    interval(time_text(level.latency_s.low), time_text(level.latency_s.high)),
                    rate_text(level.bytes_per_s.value),
                    interval(rate_text(level.bytes_per_s.low), rate_text(level.bytes_per_s.high)),
                    level.is_confident ? "" : "  (low confidence)");
  }
  return text;
}

// Row a, column b: from a to b, each alone.
std::string matrix(const Cluster& cluster) {
  const std::size_t hosts = cluster.hosts.size();
  std::vector<double> rates(hosts * hosts, 0.0);
  for (const HostPair& pair : cluster.pairs) {
    const auto a = static_cast<std::size_t>(pair.a);
    const auto b = static_cast<std::size_t>(pair.b);
    rates[a * hosts + b] = pair.ab_bytes_per_s;
    rates[b * hosts + a] = pair.ba_bytes_per_s;
  }
  std::size_t width = 10;
  for (const ClusterHost& host : cluster.hosts) width = std::max(width, host.name.size());
  std::string text = fmt::format("{:<{}}", "from \\ to", width);
  for (const ClusterHost& host : cluster.hosts) text += fmt::format("  {:>{}}", host.name, width);
  text += "\n";
  for (std::size_t a = 0; a < hosts; ++a) {
    text += fmt::format("{:<{}}", cluster.hosts[a].name, width);
    for (std::size_t b = 0; b < hosts; ++b) {
      const double rate = a == b ? cluster.hosts[a].bytes_per_s : rates[a * hosts + b];
      text += fmt::format("  {:>{}}", rate > 0.0 ? rate_text(rate) : "-", width);
    }
    text += "\n";
  }
  return text;
}

}  // namespace

std::string rate_text(double bytes_per_s) {
  constexpr double kGiga = 1e9;
  constexpr double kMega = 1e6;
  if (bytes_per_s <= 0.0) return "-";
  if (bytes_per_s >= kGiga) return fmt::format("{:.3g} GB/s", bytes_per_s / kGiga);
  return fmt::format("{:.3g} MB/s", bytes_per_s / kMega);
}

std::string time_text(double seconds) {
  constexpr double kMilli = 1e-3;
  constexpr double kMicro = 1e-6;
  if (seconds <= 0.0) return "-";
  if (seconds >= 1.0) return fmt::format("{:.3g} s", seconds);
  if (seconds >= kMilli) return fmt::format("{:.3g} ms", seconds / kMilli);
  return fmt::format("{:.3g} us", seconds / kMicro);
}

std::string to_string(const Finding& finding, const Cluster& cluster) {
  const std::string& a = name_of(cluster, finding.a);
  const std::string& b = name_of(cluster, finding.b);
  const std::string value =
      finding.quantity == "latency" ? time_text(finding.value) : rate_text(finding.value);
  std::string what;
  switch (finding.kind) {
    case FindingKind::slow_host: what = fmt::format("slow host: {}", a); break;
    case FindingKind::slow_link: what = fmt::format("slow link: {} - {}", a, b); break;
    case FindingKind::slow_uplink: {
      const auto rack = [&](int host) {
        return cluster.hosts[static_cast<std::size_t>(host)].rack;
      };
      what = fmt::format("slow uplink: rack {} - rack {}", rack(finding.a), rack(finding.b));
    }
  }
  return fmt::format("{}: {} {}, {:.1f} times slower than the others", what, finding.quantity,
                     value, finding.factor);
}

std::string cluster_report(const Cluster& cluster, int most_hosts) {
  const auto hosts = static_cast<int>(cluster.hosts.size());
  std::string text = fmt::format("{} rank{} on {} host{}\n\n", cluster.ranks(),
                                 cluster.ranks() == 1 ? "" : "s", hosts, hosts == 1 ? "" : "s");
  if (!cluster.levels.empty()) text += level_table(cluster) + "\n";
  if (hosts > 1 && hosts <= most_hosts) text += matrix(cluster) + "\n";
  if (hosts > most_hosts) {
    text += fmt::format("the matrix of {} hosts is in the files that --out and --html write\n\n",
                        hosts);
  }
  for (const Finding& finding : cluster.findings) text += to_string(finding, cluster) + "\n";
  if (cluster.findings.empty()) {
    text += hosts == 2 ? "nothing to compare the one link between two hosts with\n"
                       : "no host, link or uplink is slower than its like\n";
  }
  return text;
}

}  // namespace muster::runtime
