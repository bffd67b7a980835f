#pragma once

#include <string>

#include "runtime/probe/cluster.hpp"

namespace muster::runtime {

/// "slow host: c: bandwidth 0.012 GB/s, 9.7 times slower than the others"
std::string to_string(const Finding& finding, const Cluster& cluster);

/// What `muster probe` prints: the levels, a matrix of bandwidth between hosts (of up to
/// `most_hosts`; more are left to the file), and the findings.
std::string cluster_report(const Cluster& cluster, int most_hosts = 16);

/// "1.25 GB/s", "11.9 MB/s": 1e9 and 1e6 bytes per second.
std::string rate_text(double bytes_per_s);
/// "31.2 us", "1.53 ms"
std::string time_text(double seconds);

}  // namespace muster::runtime
