#include "runtime/probe/cluster_file.hpp"

#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <toml++/toml.h>

#include "kernels/base/error.hpp"
#include "runtime/config/file.hpp"
#include "runtime/config/findings.hpp"
#include "runtime/probe/level_fit.hpp"
#include "runtime/probe/toml_string.hpp"
#include "runtime/probe/utc_time.hpp"

namespace muster::runtime {
namespace {

constexpr std::int64_t kVersion = 1;
constexpr std::int64_t kMaxFileBytes = 64 << 20;
constexpr double kMicro = 1e-6;
constexpr double kGiga = 1e9;
constexpr double kMostRanks = 1 << 20;
constexpr double kMostMicroseconds = 1e9;
constexpr double kMostGigabytes = 1e6;

std::string to_text(const toml::node& node) {
  if (const auto* text = node.as_string()) return fmt::format("\"{}\"", text->get());
  if (const auto number = node.value<double>(); node.is_number() && number) {
    return fmt::format("{}", *number);
  }
  if (const auto* flag = node.as_boolean()) return flag->get() ? "true" : "false";
  return node.is_table() ? "a table" : node.is_array() ? "a list" : "a date or time";
}

/// One table of the file: hands out its values and complains of what remains.
class Entry {
 public:
  Entry(const toml::table& table, std::string name, Findings& findings)
      : table_(table), name_(std::move(name)), findings_(findings) {}

  std::string text(const char* key, bool is_required) {
    const toml::node* node = take(key);
    if (node == nullptr) {
      if (is_required) complain(table_.source(), key, "is missing");
      return {};
    }
    if (const auto* value = node->as_string()) return value->get();
    complain(node->source(), key, fmt::format("is {}; must be a string", to_text(*node)));
    return {};
  }

  double number(const char* key, double otherwise, double most) {
    const toml::node* node = take(key);
    if (node == nullptr) return otherwise;
    const auto value = node->value<double>();
    if (node->is_number() && value && *value >= 0.0 && *value <= most) return *value;
    complain(node->source(), key,
             fmt::format("is {}; must be a number from 0 to {}", to_text(*node), most));
    return otherwise;
  }

  int whole(const char* key, int otherwise, int least) {
    const toml::node* node = take(key);
    if (node == nullptr) return otherwise;
    const auto* value = node->as_integer();
    if (value != nullptr && value->get() >= least &&
        static_cast<double>(value->get()) <= kMostRanks) {
      return static_cast<int>(value->get());
    }
    complain(node->source(), key,
             fmt::format("is {}; must be a whole number from {} to {}", to_text(*node), least,
                         kMostRanks));
    return otherwise;
  }

  bool flag(const char* key) {
    const toml::node* node = take(key);
    if (node == nullptr) return false;
    if (const auto* value = node->as_boolean()) return value->get();
    complain(node->source(), key, fmt::format("is {}; must be true or false", to_text(*node)));
    return false;
  }

  void complain(const toml::source_region& where, std::string_view key, std::string_view text) {
    findings_.add(fmt::format("{}.{}", name_, key),
                  findings_.in_file(where.begin.line, where.begin.column), text);
  }
  void complain(std::string_view key, std::string_view text) {
    complain(table_.source(), key, text);
  }

  /// To be called last.
  void refuse_the_rest() {
    for (const auto& [key, node] : table_) {
      if (taken_.contains(std::string(key.str()))) continue;
      std::string known;
      for (const auto& [name, is_taken] : taken_) known += (known.empty() ? "" : ", ") + name;
      complain(node.source(), key.str(), fmt::format("is not known here; known: {}", known));
    }
  }

 private:
  const toml::node* take(const char* key) {
    taken_[key] = true;
    return table_.get(key);
  }

  const toml::table& table_;
  std::string name_;
  Findings& findings_;
  std::map<std::string, bool> taken_;
};

class ClusterParser {
 public:
  explicit ClusterParser(const std::string& file) : findings_(file, "the cluster") {}

  Cluster parse(const toml::table& root) {
    check_root(root);
    read_time(root);
    each(root, "host", [this](Entry& entry) { add_host(entry); });
    each(root, "pair", [this](Entry& entry) { add_pair(entry); });
    each(root, "level", [this](Entry& entry) { add_level(entry); });
    if (cluster_.hosts.empty()) findings_.add("host", "is missing; a cluster has at least one");
    findings_.throw_if_any();
    if (!cluster_.pairs.empty()) cluster_.levels = fit_levels(cluster_);
    cluster_.findings = find_slow(cluster_);
    return std::move(cluster_);
  }

 private:
  void check_root(const toml::table& root) {
    const auto version = root["version"].value<std::int64_t>();
    if (version != kVersion) {
      findings_.add("version", fmt::format("must be {}: what this muster reads", kVersion));
    }
    for (const auto& [key, node] : root) {
      const std::string_view name = key.str();
      if (name == "version" || name == "measured" || name == "host" || name == "pair" ||
          name == "level")
        continue;
      const auto at = node.source().begin;
      findings_.add(std::string(name), findings_.in_file(at.line, at.column),
                    "is not known here; known: version, measured, host, pair, level");
    }
  }

  void read_time(const toml::table& root) {
    const toml::node* node = root.get("measured");
    if (node == nullptr) return;
    const auto* time = node->as_date_time();
    const bool is_utc = time != nullptr && time->get().offset && time->get().offset->minutes == 0;
    if (is_utc) {
      const auto& [date, clock, offset] = time->get();
      cluster_.measured_s =
          seconds_of_utc({date.year, date.month, date.day, clock.hour, clock.minute, clock.second});
    } else {
      const auto at = node->source().begin;
      findings_.add(
          "measured", findings_.in_file(at.line, at.column),
          fmt::format("is {}; must be a time like {}", to_text(*node), "2026-12-01T11:15:42Z"));
    }
  }

  template <typename Add>
  void each(const toml::table& root, const char* name, const Add& add) {
    const toml::node* node = root.get(name);
    if (node == nullptr) return;
    const toml::array* list = node->as_array();
    const auto at = node->source().begin;
    if (list == nullptr || !list->is_homogeneous(toml::node_type::table)) {
      findings_.add(name, findings_.in_file(at.line, at.column),
                    fmt::format("must be written [[{}]]", name));
      return;
    }
    for (const toml::node& element : *list) {
      Entry entry(*element.as_table(), name, findings_);
      add(entry);
      entry.refuse_the_rest();
    }
  }

  void add_host(Entry& entry) {
    ClusterHost host;
    host.name = entry.text("name", true);
    host.rack = entry.text("rack", false);
    host.ranks = entry.whole("ranks", 1, 1);
    host.latency_s = entry.number("latency_us", 0.0, kMostMicroseconds) * kMicro;
    host.bytes_per_s = entry.number("gb_per_s", 0.0, kMostGigabytes) * kGiga;
    const auto number = static_cast<int>(cluster_.hosts.size());
    if (!host.name.empty() && !numbers_.emplace(host.name, number).second) {
      entry.complain("name", fmt::format("is \"{}\" twice", host.name));
    }
    cluster_.hosts.push_back(std::move(host));
  }

  std::optional<int> host_of(Entry& entry, const char* key) {
    const std::string name = entry.text(key, true);
    const auto found = numbers_.find(name);
    if (found != numbers_.end()) return found->second;
    if (!name.empty()) entry.complain(key, fmt::format("is \"{}\", which is no host", name));
    return std::nullopt;
  }

  void add_pair(Entry& entry) {
    const std::optional<int> a = host_of(entry, "a");
    const std::optional<int> b = host_of(entry, "b");
    HostPair pair;
    pair.latency_s = entry.number("latency_us", 0.0, kMostMicroseconds) * kMicro;
    pair.usual_latency_s = entry.number("usual_latency_us", 0.0, kMostMicroseconds) * kMicro;
    pair.ab_bytes_per_s = entry.number("a_to_b_gb_per_s", 0.0, kMostGigabytes) * kGiga;
    pair.ba_bytes_per_s = entry.number("b_to_a_gb_per_s", 0.0, kMostGigabytes) * kGiga;
    pair.both_bytes_per_s = entry.number("both_gb_per_s", 0.0, kMostGigabytes) * kGiga;
    if (!a || !b) return;
    if (*a == *b) return entry.complain("b", "is the same host as a");
    pair.a = *a;
    pair.b = *b;
    if (pair.a > pair.b) {
      std::swap(pair.a, pair.b);
      std::swap(pair.ab_bytes_per_s, pair.ba_bytes_per_s);
    }
    cluster_.pairs.push_back(pair);
  }

  static Estimate estimate(Entry& entry, const std::string& key, double most, double unit) {
    Estimate estimate;
    estimate.value = entry.number(key.c_str(), 0.0, most) * unit;
    estimate.low = entry.number((key + "_low").c_str(), estimate.value / unit, most) * unit;
    estimate.high = entry.number((key + "_high").c_str(), estimate.value / unit, most) * unit;
    return estimate;
  }

  void add_level(Entry& entry) {
    LinkLevel level;
    level.name = entry.text("name", true);
    if (level.name != "host" && level.name != "rack" && level.name != "racks") {
      entry.complain("name", fmt::format("is \"{}\"; must be host, rack or racks", level.name));
    }
    level.links = entry.whole("links", 0, 0);
    level.latency_s = estimate(entry, "latency_us", kMostMicroseconds, kMicro);
    level.bytes_per_s = estimate(entry, "gb_per_s", kMostGigabytes, kGiga);
    level.is_confident = entry.flag("confident");
    cluster_.levels.push_back(std::move(level));
  }

  Findings findings_;
  Cluster cluster_;
  std::map<std::string, int> numbers_;  // of hosts by name
};

void print(std::string& out, const char* key, double value) {
  if (value > 0.0) fmt::format_to(std::back_inserter(out), "{} = {:.6g}\n", key, value);
}

void print(std::string& out, const std::string& key, const Estimate& estimate, double unit) {
  if (estimate.value <= 0.0) return;
  fmt::format_to(std::back_inserter(out), "{0} = {1:.6g}\n{0}_low = {2:.6g}\n{0}_high = {3:.6g}\n",
                 key, estimate.value / unit, estimate.low / unit, estimate.high / unit);
}

}  // namespace

std::string cluster_to_toml(const Cluster& cluster) {
  std::string out = fmt::format("version = {}\n", kVersion);
  if (cluster.measured_s > 0) out += fmt::format("measured = {}\n", utc_stamp(cluster.measured_s));
  const auto add = [&out](std::string_view text) { out += text; };
  for (const ClusterHost& host : cluster.hosts) {
    add(fmt::format("\n[[host]]\nname = {}\nranks = {}\n", toml_string(host.name), host.ranks));
    if (!host.rack.empty()) add(fmt::format("rack = {}\n", toml_string(host.rack)));
    print(out, "latency_us", host.latency_s / kMicro);
    print(out, "gb_per_s", host.bytes_per_s / kGiga);
  }
  for (const HostPair& pair : cluster.pairs) {
    const auto name = [&](int host) {
      return toml_string(cluster.hosts[static_cast<std::size_t>(host)].name);
    };
    add(fmt::format("\n[[pair]]\na = {}\nb = {}\n", name(pair.a), name(pair.b)));
    print(out, "latency_us", pair.latency_s / kMicro);
    print(out, "usual_latency_us", pair.usual_latency_s / kMicro);
    print(out, "a_to_b_gb_per_s", pair.ab_bytes_per_s / kGiga);
    print(out, "b_to_a_gb_per_s", pair.ba_bytes_per_s / kGiga);
    print(out, "both_gb_per_s", pair.both_bytes_per_s / kGiga);
  }
  for (const LinkLevel& level : cluster.levels) {
    add(fmt::format("\n[[level]]\nname = {}\nlinks = {}\nconfident = {}\n", toml_string(level.name),
                    level.links, level.is_confident));
    print(out, "latency_us", level.latency_s, kMicro);
    print(out, "gb_per_s", level.bytes_per_s, kGiga);
  }
  return out;
}

Cluster parse_cluster(std::string_view text, const std::string& file) {
  try {
    return ClusterParser(file).parse(toml::parse(text, file));
  } catch (const toml::parse_error& error) {
    const toml::source_position at = error.source().begin;
    throw Error(ErrorCode::config, fmt::format("{0} is not TOML\n{0}:{1}:{2}: {3}", file, at.line,
                                               at.column, error.description()));
  }
}

Cluster read_cluster(const std::string& file) {
  return parse_cluster(read_file(file, kMaxFileBytes), file);
}

}  // namespace muster::runtime
