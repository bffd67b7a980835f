#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/probe/cluster.hpp"
#include "runtime/world/environment.hpp"

namespace muster::runtime {

/// What a whole probe found.
struct ProbeResult {
  Cluster cluster;                              // with the time
  std::map<std::int64_t, double> all_reduce_s;  // of all ranks, by bytes
};

/// What figures belong to: links are taken for the same as long as all of this is.
struct ProbeKey {
  std::string backend;                  // of the group of all ranks
  std::vector<ClusterHost> hosts;       // names, racks and numbers of ranks count
  std::vector<int> host_of_rank;        // [ranks]
  std::vector<std::string> interfaces;  // [hosts] any text that changes when a host's network does
};
std::string to_string(const ProbeKey& key);

/// The folder for what may be lost: $XDG_CACHE_HOME/muster, else $HOME/.cache/muster; empty where
/// neither is an absolute path.
std::string cache_folder(const Environment& environment);

/// The file that keeps the result of a probe for the next one: one per key, named by the key's
/// hash. Its first line is "muster probe cache VERSION HASH" with the hash of all that follows.
class ProbeCache {
 public:
  /// `folder` is made when something is saved.
  ProbeCache(const std::string& folder, ProbeKey key);

  const std::string& path() const noexcept { return path_; }

  /// What was saved; nullopt where nothing was. Error(config) says why a file cannot be used: of
  /// another version, damaged, not of these hosts, from a time after `now_s`, not a plain file.
  std::optional<ProbeResult> load(std::int64_t now_s) const;
  /// Replaces the file in one step, readable by its owner alone. Error(io).
  void save(const ProbeResult& result) const;

 private:
  ProbeResult parse(const std::string& text) const;

  ProbeKey key_;
  std::string key_text_;
  std::string folder_;
  std::string path_;
};

}  // namespace muster::runtime
