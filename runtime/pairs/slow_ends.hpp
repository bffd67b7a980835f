#pragma once

#include <span>
#include <vector>

#include "runtime/pairs/finding.hpp"

namespace muster::runtime {

/// Seconds that a pair of ends (hosts, or ranks: below called hosts) took for something: the
/// minimum over repeats, since anything else on the machine only ever adds time. Several of one
/// pair are allowed.
struct PairCost {
  int a = 0;
  int b = 0;
  double seconds = 0.0;
};

/// How many times slower than its like something must be to be named.
inline constexpr double kSlowFactor = 1.5;

/// Names what is slow. A pair runs at the pace of its worse end, so what it takes relative to its
/// level's reference is t = max(c_a, c_b) with c of a sound host about 1. Hence c of a host is the
/// minimum over its pairs; a host with c above kSlowFactor is slow. A pair is slow itself where t
/// exceeds kSlowFactor times the worse end, taken as 1 at least, and neither end is slow; where at
/// least half of the measured pairs between two racks are, it is their uplink.
///
/// The reference of a level (pairs inside racks, pairs across racks) is its 20th percentile: with
/// few hosts, one of them slow, the median is slow already. Between two hosts alone nothing can be
/// compared, and nothing is named. rack_of_host: a number per host.
///
/// The findings have factor and ends; quantity and value are the caller's to fill.
std::vector<Finding> find_slow(std::span<const PairCost> costs, std::span<const int> rack_of_host);

/// What looks slow is measured again in so many passes of so many rounds at most.
inline constexpr int kRecheckPasses = 2;
inline constexpr int kRecheckRounds = 3;

/// Rounds in the form of pair_rounds() in which what looks slow is measured again: the best pair of
/// every slow host and every slow pair, each once, in at most `most_rounds` rounds. A pair whose
/// every sample was disturbed looks slow by accident, and would be named if its minimum did not get
/// this second chance. No round is returned when nothing looks slow.
std::vector<std::vector<int>> recheck_rounds(std::span<const std::vector<PairCost>> kinds,
                                             std::span<const int> rack_of_host, int most_rounds,
                                             bool links_only = false);

/// The 20th percentile, by the next lower value; 0 of nothing.
double low_quantile(std::vector<double> values);

}  // namespace muster::runtime
