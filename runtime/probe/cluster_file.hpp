#pragma once

#include <string>
#include <string_view>

#include "runtime/probe/cluster.hpp"

namespace muster::runtime {

/// cluster.toml: a cluster as a file that people can read and write (docs/cluster.md). Numbers are
/// microseconds and gigabytes (1e9 bytes) per second.
///
///   version = 1
///   measured = 2026-12-01T11:15:42Z                                   may be left out
///   [[host]]    name, ranks, rack, latency_us, gb_per_s               one per host, in rank order
///   [[pair]]    a, b, latency_us, usual_latency_us, a_to_b_gb_per_s, b_to_a_gb_per_s,
///   both_gb_per_s
///   [[level]]   name, links, latency_us, gb_per_s, confident; *_low and *_high of both
///
/// Findings are not in the file: they follow from the pairs. A file written by hand may have levels
/// without pairs; where there are pairs the levels are fitted from these.
std::string cluster_to_toml(const Cluster& cluster);

/// Error(config) lists every mistake with line and column: unknown keys, values of a wrong type or
/// range, pairs of hosts that are not there, another version. `file` is what errors call it.
Cluster parse_cluster(std::string_view text, const std::string& file);

/// The same from a file of up to 64 MiB.
Cluster read_cluster(const std::string& file);

}  // namespace muster::runtime
