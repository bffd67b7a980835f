#pragma once

#include <string>
#include <vector>

#include "runtime/pairs/slow_ends.hpp"
#include "runtime/probe/cluster.hpp"

namespace muster::runtime {

/// The level of these links: latency is the 20th percentile of their latencies, bandwidth the
/// reciprocal of the 20th percentile of seconds per byte, as reference of what a sound link does.
/// The interval is that of 200 resamples of the links (Efron's bootstrap, with fixed random
/// numbers). Links without a bandwidth count for the latency alone.
LinkLevel fit_level(std::string name, const std::vector<double>& latencies_s,
                    const std::vector<double>& bytes_per_s);

/// All levels that a cluster's measurements show: "host", "rack", "racks".
std::vector<LinkLevel> fit_levels(const Cluster& cluster);

/// Number of the rack of every host: hosts without one share a rack.
std::vector<int> racks_of(const Cluster& cluster);

/// What find_slow() compares: seconds per byte of the slower direction, and seconds of latency.
/// Pairs without a bandwidth have none. Nor have slow pairs whose median round trip is far from
/// their fastest, a latency: what such a pair waited for was a processor. Where the fastest is as
/// quick as others', it proves both ends sound, however long the rest took.
std::vector<PairCost> bandwidth_costs(const Cluster& cluster);
std::vector<PairCost> latency_costs(const Cluster& cluster);

/// Slow hosts, links and uplinks by bandwidth and by latency, and hosts that are slow inside, most
/// severe first. A host slow in both is named for both.
std::vector<Finding> find_slow(const Cluster& cluster);

}  // namespace muster::runtime
