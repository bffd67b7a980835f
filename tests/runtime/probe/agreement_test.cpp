#include "runtime/probe/agreement.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster::runtime {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// Three hosts that see each other at 100 MB/s and 50 us.
Cluster known() {
  Cluster cluster;
  cluster.hosts = {{.name = "a", .ranks = 2, .latency_s = 1e-6, .bytes_per_s = 1e10},
                   {.name = "b"},
                   {.name = "c"}};
  for (const auto& [a, b] : {std::pair(0, 1), std::pair(0, 2), std::pair(1, 2)}) {
    cluster.pairs.push_back(
        {.a = a, .b = b, .latency_s = 5e-5, .ab_bytes_per_s = 1e8, .ba_bytes_per_s = 1e8});
  }
  return cluster;
}

struct Change {
  const char* what;
  double factor;  // of the bandwidth from b to a
  bool is_found;
  bool is_slower;
};
class Bandwidth : public testing::TestWithParam<Change> {};

TEST_P(Bandwidth, AgreesWithinAQuarter) {
  Cluster checked = known();
  checked.pairs.resize(1);
  checked.pairs[0].ba_bytes_per_s *= GetParam().factor;

  const auto found = find_disagreement(known(), checked);

  ASSERT_EQ(found.has_value(), GetParam().is_found);
  if (!found) return;
  EXPECT_EQ(found->is_slower, GetParam().is_slower);
  EXPECT_THAT(found->text, HasSubstr("b to a: "));
  EXPECT_THAT(found->text, HasSubstr("100 MB/s when it was measured"));
}

INSTANTIATE_TEST_SUITE_P(Changes, Bandwidth,
                         testing::Values(Change{"same", 1.0, false, false},
                                         Change{"a bit slower", 0.81, false, false},
                                         Change{"slower", 0.79, true, true},
                                         Change{"a bit faster", 1.24, false, false},
                                         Change{"faster", 1.26, true, false}),
                         [](const auto& test) {
                           std::string name = test.param.what;
                           std::erase(name, ' ');
                           return name;
                         });

TEST(Agreement, NeedsMoreThanTheFactorAndTheSlackInLatency) {
  Cluster checked = known();
  checked.pairs[2].latency_s = 1.4e-4;
  checked.hosts[0].latency_s = 2e-5;  // twenty times as long, but below the slack
  EXPECT_FALSE(find_disagreement(known(), checked));

  checked.pairs[2].latency_s = 1.6e-4;
  const auto found = find_disagreement(known(), checked);
  ASSERT_TRUE(found);
  EXPECT_THAT(found->text, HasSubstr("b - c: 160 us, 50 us when it was measured"));
}

TEST(Agreement, AllowsALongLatencyItsFactor) {
  Cluster before = known();
  before.pairs[0].latency_s = 1e-3;
  Cluster checked = before;
  checked.pairs[0].latency_s = 1.4e-3;
  EXPECT_FALSE(find_disagreement(before, checked));

  checked.pairs[0].latency_s = 1.6e-3;
  EXPECT_TRUE(find_disagreement(before, checked));
}

TEST(Agreement, LooksInsideHosts) {
  Cluster checked = known();
  checked.hosts[0].bytes_per_s = 2e9;

  const auto found = find_disagreement(known(), checked);

  ASSERT_TRUE(found);
  EXPECT_THAT(found->text, HasSubstr("inside a: 2 GB/s, 10 GB/s when"));
}

TEST(Agreement, TellsOfWhatIsFasterBeforeWhatMayBeDisturbed) {
  Cluster checked = known();
  checked.pairs[0].ab_bytes_per_s = 1e7;
  checked.pairs[1].ab_bytes_per_s = 1e9;

  const auto found = find_disagreement(known(), checked);

  ASSERT_TRUE(found);
  EXPECT_FALSE(found->is_slower);
}

TEST(Agreement, RefusesAPairThatIsNotKnown) {
  Cluster before = known();
  before.pairs.resize(2);

  const auto found = find_disagreement(before, known());

  ASSERT_TRUE(found);
  EXPECT_THAT(found->text, HasSubstr("b - c: was not measured"));
}

TEST(Agreement, DoesNotCompareWhatWasNotMeasured) {
  Cluster checked;
  checked.hosts = {{.name = "a"}, {.name = "b"}, {.name = "c"}};

  EXPECT_FALSE(find_disagreement(known(), checked));
}

// A link that is `load` times slower for the first `disturbed` measurements, each of which takes
// `round_s` of a simulated clock; of all measurements the best counts.
struct SimulatedCheck {
  const char* name;
  double load;
  int disturbed;
  double round_s;
  Verdict verdict;
  int attempts;
};
class Check : public testing::TestWithParam<SimulatedCheck> {};

TEST_P(Check, RepeatsWhatMayBeDisturbedWithinItsBudget) {
  const SimulatedCheck& link = GetParam();
  Cluster checked = known();
  for (HostPair& pair : checked.pairs) pair.ab_bytes_per_s = 0.0;
  double clock_s = 0.0;
  int attempts = 0;
  Verdict verdict = Verdict::unclear;
  while (verdict == Verdict::unclear) {
    ++attempts;
    clock_s += link.round_s;
    double& best = checked.pairs[0].ab_bytes_per_s;
    best = std::max(best, attempts <= link.disturbed ? 1e8 / link.load : 1e8);
    verdict = verdict_of(find_disagreement(known(), checked), attempts, clock_s);
  }

  EXPECT_EQ(verdict, link.verdict);
  EXPECT_EQ(attempts, link.attempts);
}

INSTANTIATE_TEST_SUITE_P(
    Links, Check,
    testing::Values(SimulatedCheck{"sound", 1.0, 0, 0.05, Verdict::agrees, 1},
                    SimulatedCheck{"disturbed_once", 10.0, 1, 0.05, Verdict::agrees, 2},
                    SimulatedCheck{"disturbed_twice", 10.0, 2, 0.05, Verdict::agrees, 3},
                    SimulatedCheck{"slow", 10.0, 100, 0.05, Verdict::differs, 3},
                    SimulatedCheck{"slow_for_the_budget", 10.0, 100, 0.2, Verdict::differs, 2},
                    SimulatedCheck{"very_slow", 10.0, 100, 0.5, Verdict::differs, 1},
                    SimulatedCheck{"faster", 0.1, 100, 0.05, Verdict::differs, 1}),
    [](const auto& test) { return std::string(test.param.name); });

class CheckRounds : public testing::TestWithParam<int> {};

TEST_P(CheckRounds, HaveEveryHostInAPairAtAnyTime) {
  const int hosts = GetParam();
  for (std::int64_t now = 1'000'000; now < 1'000'020; ++now) {
    const auto rounds = check_rounds(hosts, now);
    EXPECT_LE(rounds.size(), 4U);
    std::set<int> met;
    for (const auto& partners : rounds) {
      for (int host = 0; host < hosts; ++host) {
        if (partners[static_cast<std::size_t>(host)] >= 0) met.insert(host);
      }
    }
    EXPECT_THAT(met, SizeIs(hosts));
  }
}

INSTANTIATE_TEST_SUITE_P(Hosts, CheckRounds, testing::Values(2, 3, 4, 7, 8, 9, 31, 100, 512));

TEST(CheckRoundsOfTime, BeginWithAnotherRoundEachSecond) {
  std::set<std::vector<int>> first;
  for (std::int64_t now = 0; now < 3; ++now) first.insert(check_rounds(4, now).front());
  EXPECT_THAT(first, SizeIs(3));
  EXPECT_THAT(check_rounds(1, 0), IsEmpty());
}

}  // namespace
}  // namespace muster::runtime
