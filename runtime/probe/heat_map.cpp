#include "runtime/probe/heat_map.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "runtime/probe/cluster_report.hpp"
#include "runtime/probe/utc_time.hpp"

namespace muster::runtime {
namespace {

constexpr std::size_t kMostHostsWithValues = 32;

constexpr std::string_view kHead = R"(<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>muster probe</title><style>
body { font: 14px/1.4 sans-serif; margin: 2em; color: #222; background: #fff; }
table { border-collapse: collapse; margin: 1em 0; }
th { font-weight: 600; text-align: left; padding: 2px 8px; white-space: nowrap; }
td { padding: 2px 8px; text-align: right; white-space: nowrap; }
.map td { min-width: 1em; height: 1.2em; border: 1px solid #fff; font-size: 11px;
  print-color-adjust: exact; -webkit-print-color-adjust: exact; }
.map td.first { border-left: 2px solid #222; }
.map tr.first td { border-top: 2px solid #222; }
.map td:last-child { border-right: 2px solid #222; }
.map tr:last-child td { border-bottom: 2px solid #222; }
.map thead th { writing-mode: vertical-rl; }
.none { background: #eee; color: #888; }
.slow { color: #a00; font-weight: 600; }
</style></head><body>
)";

std::string escape(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      default: out += c;
    }
  }
  return out;
}

/// Bandwidths from row to column; 0 where nothing was measured.
class Matrix {
 public:
  explicit Matrix(const Cluster& cluster)
      : hosts_(cluster.hosts.size()), rates_(hosts_ * hosts_, 0.0) {
    for (const HostPair& pair : cluster.pairs) {
      at(pair.a, pair.b) = pair.ab_bytes_per_s;
      at(pair.b, pair.a) = pair.ba_bytes_per_s;
    }
    for (const double rate : rates_) {
      if (rate > 0.0) slowest_ = slowest_ > 0.0 ? std::min(slowest_, rate) : rate;
      fastest_ = std::max(fastest_, rate);
    }
  }

  double rate(std::size_t a, std::size_t b) const { return rates_[a * hosts_ + b]; }

  // From red for the slowest to pale green for the fastest, by the logarithm; pale enough for dark
  // letters on it.
  std::string colour(double rate) const {
    const double range = std::log(fastest_ / slowest_);
    const double share = range < 0.05 ? 1.0 : std::log(rate / slowest_) / range;
    return fmt::format("hsl({:.0f} 65% {:.0f}%)", 120.0 * share, 70.0 + 15.0 * share);
  }

 private:
  double& at(int a, int b) {
    return rates_[static_cast<std::size_t>(a) * hosts_ + static_cast<std::size_t>(b)];
  }

  std::size_t hosts_;
  std::vector<double> rates_;
  double slowest_ = 0.0;
  double fastest_ = 0.0;
};

bool begins_rack(const Cluster& cluster, std::size_t host) {
  return host == 0 || cluster.hosts[host].rack != cluster.hosts[host - 1].rack;
}

std::string cell(const Cluster& cluster, const Matrix& matrix, std::size_t a, std::size_t b) {
  const std::string place = begins_rack(cluster, b) ? " first" : "";
  const double rate = matrix.rate(a, b);
  if (rate <= 0.0) return fmt::format("<td class=\"none{}\"></td>", place);
  const std::string value = rate_text(rate);
  return fmt::format("<td class=\"cell{}\" style=\"background:{}\" title=\"{} to {}: {}\">{}</td>",
                     place, matrix.colour(rate), escape(cluster.hosts[a].name),
                     escape(cluster.hosts[b].name), value,
                     cluster.hosts.size() <= kMostHostsWithValues ? value : "");
}

std::string heat_map(const Cluster& cluster) {
  const Matrix matrix(cluster);
  std::string out =
      "<h2>Bandwidth from row to column</h2>\n<table class=\"map\"><thead><tr><th></th>";
  for (const ClusterHost& host : cluster.hosts) {
    out += fmt::format("<th>{}</th>", escape(host.name));
  }
  out += "</tr></thead><tbody>\n";
  for (std::size_t a = 0; a < cluster.hosts.size(); ++a) {
    out += fmt::format("<tr{}><th>{}</th>", begins_rack(cluster, a) ? " class=\"first\"" : "",
                       escape(cluster.hosts[a].name));
    for (std::size_t b = 0; b < cluster.hosts.size(); ++b) out += cell(cluster, matrix, a, b);
    out += "</tr>\n";
  }
  return out + "</tbody></table>\n";
}

std::string html_level_table(const Cluster& cluster) {
  std::string out =
      "<h2>Levels</h2>\n<table><tr><th>links</th><th>count</th><th>latency</th>"
      "<th>bandwidth</th><th>90 % interval</th></tr>\n";
  for (const LinkLevel& level : cluster.levels) {
    fmt::format_to(std::back_inserter(out),
                   "<tr><th>{}</th><td>{}</td><td>{}</td><td>{}</td><td>{} .. {}{}</td></tr>\n",
                   escape(level.name), level.links, time_text(level.latency_s.value),
                   rate_text(level.bytes_per_s.value), rate_text(level.bytes_per_s.low),
                   rate_text(level.bytes_per_s.high), level.is_confident ? "" : ", low confidence");
  }
  return out + "</table>\n";
}

std::string findings(const Cluster& cluster) {
  if (cluster.findings.empty()) return "<p>No host, link or uplink is slower than its like.</p>\n";
  std::string out = "<h2>Findings</h2>\n<ul>\n";
  for (const Finding& finding : cluster.findings) {
    out += fmt::format("<li class=\"slow\">{}</li>\n", escape(to_string(finding, cluster)));
  }
  return out + "</ul>\n";
}

}  // namespace

std::string cluster_html(const Cluster& cluster) {
  std::string out(kHead);
  out += fmt::format("<h1>{} ranks on {} hosts</h1>\n", cluster.ranks(), cluster.hosts.size());
  if (cluster.measured_s > 0) {
    out += fmt::format("<p>Measured at {}.</p>\n", utc_text(cluster.measured_s));
  }
  out += findings(cluster) + html_level_table(cluster);
  if (!cluster.pairs.empty()) out += heat_map(cluster);
  return out + "</body></html>\n";
}

}  // namespace muster::runtime
