#include "runtime/probe/probe_cache.hpp"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <toml++/toml.h>
#include <unistd.h>

#include "kernels/base/error.hpp"
#include "runtime/checkpoint/file_io.hpp"
#include "runtime/checkpoint/hash.hpp"
#include "runtime/config/file.hpp"
#include "runtime/probe/cluster_file.hpp"
#include "runtime/probe/toml_string.hpp"
#include "runtime/probe/utc_time.hpp"

namespace muster::runtime {
namespace {

namespace fs = std::filesystem;

constexpr int kCacheVersion = 1;
constexpr std::int64_t kMaxBytes = std::int64_t{64} << 20;
constexpr std::string_view kMagic = "muster probe cache";

[[noreturn]] void refuse(const std::string& reason) {
  throw Error(ErrorCode::config, reason);
}

std::string first_line(std::string_view body) {
  return fmt::format("{} {} {}\n", kMagic, kCacheVersion, hash_of(body));
}

/// What follows the first line, which vouches for it.
std::string_view body_of(std::string_view text) {
  const std::size_t end = text.find('\n');
  if (!text.starts_with(kMagic) || end == std::string_view::npos) refuse("it is no probe cache");
  if (!text.starts_with(fmt::format("{} {} ", kMagic, kCacheVersion))) {
    refuse(fmt::format("it is of another version than {}", kCacheVersion));
  }
  const std::string_view body = text.substr(end + 1);
  if (text.substr(0, end + 1) != first_line(body)) refuse("it is damaged or incomplete");
  return body;
}

std::map<std::int64_t, double> all_reduce_of(const toml::table& table) {
  constexpr std::int64_t kMostBytes = std::int64_t{1} << 40;
  constexpr double kMostSeconds = 1e6;
  std::map<std::int64_t, double> times;
  const toml::array* const list = table["all_reduce"].as_array();
  if (list == nullptr) refuse("it has no times of all_reduce");
  for (const toml::node& node : *list) {
    const toml::table* const row = node.as_table();
    if (row == nullptr) refuse("a time of all_reduce is no table");
    const auto bytes = (*row)["bytes"].value_or<std::int64_t>(0);
    const auto seconds = (*row)["seconds"].value_or<double>(0.0);
    const bool is_sound = bytes > 0 && bytes <= kMostBytes && seconds > 0 && seconds < kMostSeconds;
    if (!is_sound) refuse("a time of all_reduce is out of range");
    times[bytes] = seconds;
  }
  return times;
}

bool are_same(const std::vector<ClusterHost>& ours, const std::vector<ClusterHost>& theirs) {
  return std::equal(ours.begin(), ours.end(), theirs.begin(), theirs.end(),
                    [](const ClusterHost& one, const ClusterHost& other) {
                      return one.name == other.name && one.rack == other.rack &&
                             one.ranks == other.ranks;
                    });
}

}  // namespace

std::string to_string(const ProbeKey& key) {
  std::string text = fmt::format("backend {}\n", key.backend);
  for (std::size_t host = 0; host < key.hosts.size(); ++host) {
    text += fmt::format("host {} rack {} interfaces {}\n", key.hosts[host].name,
                        key.hosts[host].rack, key.interfaces.at(host));
  }
  text += "ranks on";
  for (const int host : key.host_of_rank) text += fmt::format(" {}", host);
  return text + "\n";
}

std::string cache_folder(const Environment& environment) {
  const auto below = [&](const char* variable, const char* folder) {
    const fs::path root = environment.find_or(variable, "");
    return root.is_absolute() ? (root / folder).string() : std::string();
  };
  const std::string own = below("XDG_CACHE_HOME", "muster");
  return own.empty() ? below("HOME", ".cache/muster") : own;
}

ProbeCache::ProbeCache(const std::string& folder, ProbeKey key)
    : key_(std::move(key)),
      key_text_(to_string(key_)),
      folder_(folder),
      path_((fs::path(folder) / fmt::format("probe-{}", hash_of(key_text_))).string()) {}

std::optional<ProbeResult> ProbeCache::load(std::int64_t now_s) const {
  std::error_code error;
  const fs::file_status status = fs::symlink_status(path_, error);
  if (!fs::exists(status) && (!error || status.type() == fs::file_type::not_found)) {
    return std::nullopt;
  }
  if (!fs::is_regular_file(status)) refuse("it is not a plain file");
  ProbeResult result = parse(read_file(path_, kMaxBytes));
  if (result.cluster.measured_s <= 0) refuse("it does not say when it was measured");
  if (result.cluster.measured_s > now_s) {
    refuse(fmt::format("it was measured at {}, which is yet to come",
                       utc_text(result.cluster.measured_s)));
  }
  return result;
}

ProbeResult ProbeCache::parse(const std::string& text) const {
  try {
    const toml::table table = toml::parse(body_of(text));
    if (table["key"].value_or<std::string_view>("") != key_text_) refuse("it is of other hosts");
    ProbeResult result;
    result.cluster = parse_cluster(table["cluster"].value_or<std::string_view>(""), path_);
    if (!are_same(key_.hosts, result.cluster.hosts)) refuse("it is of other hosts");
    result.all_reduce_s = all_reduce_of(table);
    return result;
  } catch (const toml::parse_error& error) {
    refuse(fmt::format("it is not TOML: {}", error.description()));
  }
}

void ProbeCache::save(const ProbeResult& result) const {
  std::string body = fmt::format("key = {}\ncluster = {}\n", toml_string(key_text_),
                                 toml_string(cluster_to_toml(result.cluster)));
  for (const auto& [bytes, seconds] : result.all_reduce_s) {
    body += fmt::format("[[all_reduce]]\nbytes = {}\nseconds = {}\n", bytes, seconds);
  }
  std::error_code error;
  fs::create_directories(folder_, error);
  if (error) {
    throw Error(ErrorCode::io, fmt::format("cannot make {}: {}", folder_, error.message()));
  }
  const std::string fresh = fmt::format("{}.{}", path_, ::getpid());
  try {
    write_file(fresh, first_line(body) + body);
    fs::permissions(fresh, fs::perms::owner_read | fs::perms::owner_write);
    fs::rename(fresh, path_);
  } catch (const fs::filesystem_error& failure) {
    fs::remove(fresh, error);
    throw Error(ErrorCode::io, fmt::format("cannot make {}: {}", path_, failure.code().message()));
  } catch (const Error&) {
    fs::remove(fresh, error);
    throw;
  }
}

}  // namespace muster::runtime
