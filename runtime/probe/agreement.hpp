#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/probe/cluster.hpp"

namespace muster::runtime {

/// Two bandwidths agree when neither is more than so much of the other above it.
inline constexpr double kBandwidthTolerance = 0.25;
/// Two latencies agree when neither is more than this times the other, or they differ by less than
/// kLatencySlackS: so much depends on how the scheduler wakes both ends.
inline constexpr double kLatencyFactor = 1.5;
inline constexpr double kLatencySlackS = 100e-6;
/// Whoever seems slower than before is measured so often, since other load makes a link look slow;
/// but not again once that took so many seconds, since a whole probe may follow.
inline constexpr int kCheckAttempts = 3;
inline constexpr double kCheckBudgetS = 0.3;

/// One number that is not what it was.
struct Disagreement {
  std::string text;       // "a - b: 11.9 MB/s, 119 MB/s when it was measured"
  bool is_slower = true;  // and so may be mere disturbance
};

/// Compares what was just measured of some hosts and pairs with what is known of them; the hosts
/// are the same. What was not measured (0) is not compared; a pair that is not known disagrees.
/// Something that is faster goes before what is slower. nullopt: all agrees.
std::optional<Disagreement> find_disagreement(const Cluster& known, const Cluster& checked);

enum class Verdict {
  agrees,   // the known cluster stands
  unclear,  // to be measured again
  differs,  // the known cluster is no longer true
};

/// What follows from a comparison after `attempts` of them that took `spent_s` seconds together.
Verdict verdict_of(const std::optional<Disagreement>& disagreement, int attempts, double spent_s);

/// The rounds of pairs of hosts by which a known cluster is checked: one of pair_rounds(), another
/// at every time, and as many further ones as the hosts that rest in it need. Every host is in a
/// pair. None for one host.
std::vector<std::vector<int>> check_rounds(int hosts, std::int64_t now_s);

}  // namespace muster::runtime
