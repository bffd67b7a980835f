#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/pairs/finding.hpp"

namespace muster::runtime {

/// A host of a cluster: ranks that share memory.
struct ClusterHost {
  std::string name;
  std::string rack;  // hosts behind one switch; empty: not known
  int ranks = 1;
  double latency_s = 0.0;    // between two of its ranks, one way, 8 bytes; 0: not measured
  double bytes_per_s = 0.0;  // between two of its ranks, one way; 0: not measured
};

/// What the network does between two hosts when nobody else uses it.
struct HostPair {
  int a = 0;  // numbers of hosts, a < b
  int b = 0;
  double latency_s = 0.0;        // one way, 8 bytes: half of the fastest round trip
  double usual_latency_s = 0.0;  // half of the median round trip; 0: not known
  double ab_bytes_per_s = 0.0;   // from a to b alone
  double ba_bytes_per_s = 0.0;
  double both_bytes_per_s = 0.0;  // each way with both at once; 0: not measured

  double slower_bytes_per_s() const noexcept {
    return ab_bytes_per_s < ba_bytes_per_s ? ab_bytes_per_s : ba_bytes_per_s;
  }
};

/// A number with the interval in which 90 % of resampled estimates lie.
struct Estimate {
  double value = 0.0;
  double low = 0.0;
  double high = 0.0;
};

/// Links of one kind: "host" (shared memory), "rack" (hosts of one rack, or all hosts when racks
/// are not known), "racks" (between racks).
struct LinkLevel {
  std::string name;
  int links = 0;  // that were measured
  Estimate latency_s;
  Estimate bytes_per_s;
  bool is_confident = false;  // three links or more, whose spread is below a tenth
};

/// A set of hosts and what its links do: measured, or written by hand for machines one has not.
struct Cluster {
  std::int64_t measured_s = 0;  // when: seconds since 1970, UTC; 0: not known
  std::vector<ClusterHost> hosts;
  std::vector<HostPair> pairs;
  std::vector<LinkLevel> levels;
  std::vector<Finding> findings;

  int ranks() const noexcept {
    int sum = 0;
    for (const ClusterHost& host : hosts) sum += host.ranks;
    return sum;
  }
};

}  // namespace muster::runtime
