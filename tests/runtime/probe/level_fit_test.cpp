#include "runtime/probe/level_fit.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster::runtime {
namespace {

using testing::IsEmpty;

TEST(FitLevel, GivesTheReferenceAndItsInterval) {
  const LinkLevel level =
      fit_level("rack", {10e-6, 10.2e-6, 9.9e-6, 10.1e-6, 10e-6}, {1e9, 1.01e9, 0.99e9, 1e9, 1e9});

  EXPECT_EQ(level.name, "rack");
  EXPECT_EQ(level.links, 5);
  EXPECT_DOUBLE_EQ(level.latency_s.value, 10e-6);
  EXPECT_LE(level.latency_s.low, level.latency_s.value);
  EXPECT_GE(level.latency_s.high, level.latency_s.value);
  EXPECT_NEAR(level.bytes_per_s.value, 1e9, 1e6);
  EXPECT_LE(level.bytes_per_s.low, level.bytes_per_s.value);
  EXPECT_GE(level.bytes_per_s.high, level.bytes_per_s.value);
  EXPECT_TRUE(level.is_confident);
}

TEST(FitLevel, DoubtsFewLinksAndLinksThatDiffer) {
  EXPECT_FALSE(fit_level("rack", {1e-6, 1e-6}, {1e9, 1e9}).is_confident);
  EXPECT_FALSE(fit_level("rack", {1e-6, 1e-6, 1e-6}, {1e9, 2e9, 1e9}).is_confident);
  EXPECT_FALSE(fit_level("rack", {1e-6, 2e-6, 1e-6}, {1e9, 1e9, 1e9}).is_confident);
}

TEST(FitLevel, HasNoBandwidthWithoutLargeMessages) {
  const LinkLevel level = fit_level("rack", {1e-6, 1e-6, 1e-6}, {0.0, 0.0, 0.0});

  EXPECT_EQ(level.bytes_per_s.value, 0.0);
  EXPECT_FALSE(level.is_confident);
}

Cluster four_hosts() {
  Cluster cluster;
  for (const char* name : {"a", "b", "c", "d"}) {
    cluster.hosts.push_back({.name = name, .ranks = 2, .latency_s = 1e-7, .bytes_per_s = 1e10});
  }
  for (int a = 0; a < 4; ++a) {
    for (int b = a + 1; b < 4; ++b) {
      cluster.pairs.push_back(
          {.a = a, .b = b, .latency_s = 30e-6, .ab_bytes_per_s = 1.2e8, .ba_bytes_per_s = 1.2e8});
    }
  }
  return cluster;
}

TEST(FindSlowInCluster, IsSilentWhereAllAreAlike) {
  EXPECT_THAT(find_slow(four_hosts()), IsEmpty());
}

TEST(FindSlowInCluster, NamesAHostThatIsSlowOneWay) {
  Cluster cluster = four_hosts();
  for (HostPair& pair : cluster.pairs) {
    if (pair.a == 1) pair.ab_bytes_per_s = 1.2e7;
    if (pair.b == 1) pair.ba_bytes_per_s = 1.2e7;
  }

  const std::vector<Finding> findings = find_slow(cluster);

  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].kind, FindingKind::slow_host);
  EXPECT_EQ(findings[0].a, 1);
  EXPECT_EQ(findings[0].quantity, "bandwidth");
  EXPECT_DOUBLE_EQ(findings[0].value, 1.2e7);
  EXPECT_NEAR(findings[0].factor, 10.0, 1e-9);
}

TEST(FindSlowInCluster, NamesLatencyAndSharedMemory) {
  Cluster cluster = four_hosts();
  cluster.pairs[0].latency_s = 1200e-6;
  cluster.hosts[3].bytes_per_s = 2e9;

  const std::vector<Finding> findings = find_slow(cluster);

  ASSERT_EQ(findings.size(), 2U);
  EXPECT_EQ(findings[0].quantity, "latency");
  EXPECT_EQ(findings[0].kind, FindingKind::slow_link);
  EXPECT_DOUBLE_EQ(findings[0].value, 1200e-6);
  EXPECT_EQ(findings[1].quantity, "shared memory");
  EXPECT_EQ(findings[1].a, 3);
}

TEST(FindSlowInCluster, LatenciesOfOneSchedulingApartAreAlike) {
  Cluster cluster = four_hosts();
  for (HostPair& pair : cluster.pairs) pair.latency_s = pair.a == 0 ? 12e-6 : 5e-6;

  EXPECT_THAT(find_slow(cluster), IsEmpty());
}

// Host 0's processor was busy: two of its pairs never saw a quick round trip, the third did at
// times, which is what the link can do.
TEST(FindSlowInCluster, AHostWithOneQuickPairIsNotSlow) {
  Cluster cluster = four_hosts();
  for (HostPair& pair : cluster.pairs) {
    pair.usual_latency_s = pair.latency_s;
    if (pair.a == 0) pair.latency_s = pair.usual_latency_s = 300e-6;
  }
  cluster.pairs[0].latency_s = 30e-6;

  for (const Finding& finding : find_slow(cluster)) {
    EXPECT_NE(finding.kind, FindingKind::slow_host) << finding.a;
  }
}

TEST(FitLevels, KeepsHostsAndRacksApart) {
  Cluster cluster = four_hosts();
  cluster.hosts[0].rack = cluster.hosts[1].rack = "r1";
  cluster.hosts[2].rack = cluster.hosts[3].rack = "r2";

  const std::vector<LinkLevel> levels = fit_levels(cluster);

  ASSERT_EQ(levels.size(), 3U);
  EXPECT_EQ(levels[0].name, "host");
  EXPECT_EQ(levels[0].links, 4);
  EXPECT_EQ(levels[1].name, "rack");
  EXPECT_EQ(levels[1].links, 2);
  EXPECT_EQ(levels[2].name, "racks");
  EXPECT_EQ(levels[2].links, 4);
}

}  // namespace
}  // namespace muster::runtime
