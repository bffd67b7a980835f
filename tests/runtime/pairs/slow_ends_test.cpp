#include "runtime/pairs/slow_ends.hpp"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/pairs/pair_rounds.hpp"
#include "tests/support/probe_simulation.hpp"

namespace muster::runtime {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// All pairs of `hosts` in 1 s, but those that `cost` changes.
template <typename Cost>
std::vector<PairCost> all_pairs(int hosts, const Cost& cost) {
  std::vector<PairCost> pairs;
  for (int a = 0; a < hosts; ++a) {
    for (int b = a + 1; b < hosts; ++b) pairs.push_back({a, b, cost(a, b)});
  }
  return pairs;
}

std::vector<int> one_rack(int hosts) {
  return std::vector<int>(static_cast<std::size_t>(hosts), 0);
}

TEST(FindSlow, NamesTheOneHostWhosePairsAreAllSlow) {
  const auto costs = all_pairs(4, [](int a, int b) { return a == 2 || b == 2 ? 10.0 : 1.0; });

  const std::vector<Finding> findings = find_slow(costs, one_rack(4));

  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].kind, FindingKind::slow_host);
  EXPECT_EQ(findings[0].a, 2);
  EXPECT_DOUBLE_EQ(findings[0].factor, 10.0);
}

TEST(FindSlow, NamesThePairWhereBothEndsAreWellElsewhere) {
  const auto costs = all_pairs(4, [](int a, int b) { return a == 1 && b == 3 ? 2.0 : 1.0; });

  const std::vector<Finding> findings = find_slow(costs, one_rack(4));

  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].kind, FindingKind::slow_link);
  EXPECT_EQ(findings[0].a, 1);
  EXPECT_EQ(findings[0].b, 3);
}

TEST(FindSlow, NamesTheUplinkWhereAllPairsOfTwoRacksAreSlow) {
  const std::vector<int> racks = {0, 0, 1, 1, 2, 2};
  const auto costs = all_pairs(6, [&](int a, int b) {
    const auto rack = [&](int host) { return racks[static_cast<std::size_t>(host)]; };
    return rack(a) == 0 && rack(b) == 2 ? 4.0 : 1.0;
  });

  const std::vector<Finding> findings = find_slow(costs, racks);

  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].kind, FindingKind::slow_uplink);
}

TEST(FindSlow, ComparesPairsOfOneLevelOnly) {
  const std::vector<int> racks = {0, 0, 1, 1};
  const auto costs = all_pairs(4, [&](int a, int b) {
    return racks[static_cast<std::size_t>(a)] == racks[static_cast<std::size_t>(b)] ? 1.0 : 8.0;
  });

  EXPECT_THAT(find_slow(costs, racks), IsEmpty());
}

TEST(FindSlow, HasNothingToCompareBetweenTwoHosts) {
  const std::vector<PairCost> costs = {{0, 1, 100.0}};

  EXPECT_THAT(find_slow(costs, one_rack(2)), IsEmpty());
}

TEST(FindSlow, NamesSeveralSlowEndsOfOneLevel) {
  const auto costs = all_pairs(8, [](int a, int b) {
    const auto pace = [](int end) { return end == 2 ? 2.5 : end == 6 ? 4.0 : 1.0; };
    return std::max(pace(a), pace(b));
  });

  const std::vector<Finding> findings = find_slow(costs, one_rack(8));

  ASSERT_EQ(findings.size(), 2U);
  EXPECT_EQ(findings[0].a, 2);
  EXPECT_DOUBLE_EQ(findings[0].factor, 2.5);
  EXPECT_EQ(findings[1].a, 6);
  EXPECT_DOUBLE_EQ(findings[1].factor, 4.0);
}

// The ends of two of ten pairs are faster than the reference.
TEST(FindSlow, DoesNotNameALinkThatIsOnlySlowBesideItsVeryFastEnds) {
  const auto costs = all_pairs(5, [](int a, int b) {
    const bool is_very_fast = (a == 0 && b == 1) || (a == 2 && b == 3);
    return is_very_fast ? 0.25 : 1.0;
  });

  EXPECT_THAT(find_slow(costs, one_rack(5)), IsEmpty());
}

TEST(FindSlow, IsSilentJustBelowTheFactor) {
  const auto costs = all_pairs(4, [](int a, int b) { return a == 2 || b == 2 ? 1.49 : 1.0; });

  EXPECT_THAT(find_slow(costs, one_rack(4)), IsEmpty());
}

TEST(RecheckRounds, MeasureEverySuspectOnceWithoutOverlap) {
  const auto costs = all_pairs(6, [](int a, int b) {
    if (a == 2 || b == 2) return a == 1 || b == 1 ? 3.0 : 5.0;
    return a == 0 && b == 1 ? 2.0 : 1.0;
  });

  const std::vector<std::vector<PairCost>> kinds = {costs};
  const auto rounds = recheck_rounds(kinds, one_rack(6), 4);

  EXPECT_THAT(rounds,
              ElementsAre(ElementsAre(1, 0, -1, -1, -1, -1), ElementsAre(-1, 2, 1, -1, -1, -1)));
  EXPECT_EQ(recheck_rounds(kinds, one_rack(6), 1).size(), 1U);
}

TEST(RecheckRounds, AreNoneWhereAllIsWell) {
  const std::vector<std::vector<PairCost>> kinds = {all_pairs(4, [](int, int) { return 1.0; })};

  EXPECT_THAT(recheck_rounds(kinds, one_rack(4), 4), IsEmpty());
}

TEST(LowQuantile, IsTheFifthFromBelow) {
  EXPECT_EQ(low_quantile({}), 0.0);
  EXPECT_EQ(low_quantile({7.0}), 7.0);
  EXPECT_EQ(low_quantile({5.0, 4.0, 3.0, 2.0, 1.0}), 2.0);
}

class FindSlowInNoise : public testing::TestWithParam<int> {};

TEST_P(FindSlowInNoise, NamesExactlyWhatWasPlanted) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const test::SimulationOutcome outcome = test::simulate_probe({.hosts = GetParam(),
                                                                  .hosts_per_rack = GetParam(),
                                                                  .slow_hosts = 1,
                                                                  .slow_uplinks = 0,
                                                                  .seed = seed});
    EXPECT_EQ(outcome.named_hosts, outcome.planted_hosts) << "seed " << seed;
    EXPECT_EQ(outcome.named_links, 0) << "seed " << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(Hosts, FindSlowInNoise, testing::Values(4, 8, 16, 64));

TEST(FindSlowInNoise, NamesUplinksOfManyRacks) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const test::SimulationOutcome outcome = test::simulate_probe({.hosts = 128, .seed = seed});
    EXPECT_EQ(outcome.named_hosts, outcome.planted_hosts) << "seed " << seed;
    EXPECT_EQ(outcome.named_uplinks, outcome.planted_uplinks) << "seed " << seed;
    EXPECT_EQ(outcome.named_links, 0) << "seed " << seed;
  }
}

// 4,096 ranks, 8 on a host, 32 racks.
TEST(FindSlowInNoise, NamesEveryFaultOf512HostsInSixtyRuns) {
  int exact = 0;
  std::size_t hosts = 0;
  std::size_t uplinks = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const test::SimulationOutcome outcome = test::simulate_probe({.hosts = 512, .seed = seed});
    exact += outcome.is_exact() ? 1 : 0;
    hosts += outcome.named_hosts.size();
    uplinks += outcome.named_uplinks.size();
  }
  RecordProperty("exact_runs", exact);
  RecordProperty("rounds", static_cast<int>(pair_rounds(512).size()));
  EXPECT_EQ(exact, 60);
  EXPECT_EQ(hosts, 180U);
  EXPECT_EQ(uplinks, 120U);
}

TEST(FindSlowInNoise, IsSilentWhereNothingWasPlanted) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const test::SimulationOutcome outcome =
        test::simulate_probe({.hosts = 128, .slow_hosts = 0, .slow_uplinks = 0, .seed = seed});
    EXPECT_THAT(outcome.named_hosts, IsEmpty());
    EXPECT_THAT(outcome.named_uplinks, IsEmpty());
    EXPECT_EQ(outcome.named_links, 0);
  }
}

}  // namespace
}  // namespace muster::runtime
