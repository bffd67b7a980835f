#include "runtime/probe/cluster_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/probe/level_fit.hpp"
#include "tests/support/error_text.hpp"

namespace muster::runtime {
namespace {

using testing::AllOf;
using testing::HasSubstr;

Cluster measured() {
  Cluster cluster;
  cluster.measured_s = 1'796'123'456;
  cluster.hosts = {
      {.name = "node \"a\"", .rack = "r1", .ranks = 8, .latency_s = 2e-7, .bytes_per_s = 1e10},
      {.name = "b", .rack = "r1"},
      {.name = "c", .rack = "r2"}};
  cluster.pairs = {
      {.a = 0,
       .b = 1,
       .latency_s = 3e-5,
       .usual_latency_s = 7e-5,
       .ab_bytes_per_s = 1.25e8,
       .ba_bytes_per_s = 1.2e8,
       .both_bytes_per_s = 1.1e8},
      {.a = 1, .b = 2, .latency_s = 4e-5, .ab_bytes_per_s = 6e7, .ba_bytes_per_s = 6.5e7}};
  cluster.levels = fit_levels(cluster);
  return cluster;
}

TEST(ClusterFile, KeepsEverythingItWrites) {
  const Cluster before = measured();

  const Cluster after = parse_cluster(cluster_to_toml(before), "cluster.toml");

  EXPECT_EQ(after.measured_s, before.measured_s);
  EXPECT_NEAR(after.pairs.at(0).usual_latency_s, 7e-5, 1e-10);
  ASSERT_EQ(after.hosts.size(), 3U);
  EXPECT_EQ(after.hosts[0].name, "node \"a\"");
  EXPECT_EQ(after.hosts[0].ranks, 8);
  EXPECT_EQ(after.hosts[2].rack, "r2");
  EXPECT_NEAR(after.hosts[0].latency_s, 2e-7, 1e-12);
  ASSERT_EQ(after.pairs.size(), 2U);
  EXPECT_EQ(after.pairs[1].a, 1);
  EXPECT_EQ(after.pairs[1].b, 2);
  EXPECT_NEAR(after.pairs[0].ab_bytes_per_s, 1.25e8, 1.0);
  EXPECT_NEAR(after.pairs[0].both_bytes_per_s, 1.1e8, 1.0);
  ASSERT_EQ(after.levels.size(), before.levels.size());
  for (std::size_t i = 0; i < before.levels.size(); ++i) {
    EXPECT_EQ(after.levels[i].name, before.levels[i].name);
    EXPECT_NEAR(after.levels[i].bytes_per_s.value / before.levels[i].bytes_per_s.value, 1.0, 1e-5);
  }
}

TEST(ClusterFile, TurnsPairsSoThatTheLowerHostIsFirst) {
  const Cluster cluster = parse_cluster(
      "version = 1\n[[host]]\nname = \"a\"\n[[host]]\nname = \"b\"\n"
      "[[pair]]\na = \"b\"\nb = \"a\"\na_to_b_gb_per_s = 2\nb_to_a_gb_per_s = 1\n",
      "f");

  ASSERT_EQ(cluster.pairs.size(), 1U);
  EXPECT_EQ(cluster.pairs[0].a, 0);
  EXPECT_EQ(cluster.pairs[0].ab_bytes_per_s, 1e9);
  EXPECT_EQ(cluster.pairs[0].ba_bytes_per_s, 2e9);
}

TEST(ClusterFile, MayHaveLevelsWithoutPairs) {
  const Cluster cluster = parse_cluster(
      "version = 1\n[[host]]\nname = \"a\"\nranks = 8\n[[host]]\nname = \"b\"\nranks = 8\n"
      "[[level]]\nname = \"rack\"\nlatency_us = 5\ngb_per_s = 12.5\nconfident = true\n",
      "f");

  EXPECT_EQ(cluster.ranks(), 16);
  ASSERT_EQ(cluster.levels.size(), 1U);
  EXPECT_DOUBLE_EQ(cluster.levels[0].bytes_per_s.value, 12.5e9);
  EXPECT_DOUBLE_EQ(cluster.levels[0].bytes_per_s.low, 12.5e9);
  EXPECT_TRUE(cluster.levels[0].is_confident);
}

TEST(ClusterFile, ListsEveryMistakeWithItsPlace) {
  const std::string text = error_text(ErrorCode::config, [] {
    parse_cluster(
        "version = 2\n[[host]]\nname = \"a\"\nranks = 0\ncolour = 3\n[[host]]\nname = \"a\"\n"
        "[[pair]]\na = \"a\"\nb = \"z\"\nlatency_us = -1\n[[level]]\nname = \"moon\"\n",
        "f.toml");
  });

  EXPECT_THAT(text, AllOf(HasSubstr("in the cluster f.toml"), HasSubstr("must be 1"),
                          HasSubstr("f.toml:4:9"), HasSubstr("is 0; must be a whole number from 1"),
                          HasSubstr("host.colour"), HasSubstr("is \"a\" twice"),
                          HasSubstr("is \"z\", which is no host")));
  EXPECT_THAT(text, AllOf(HasSubstr("is -1; must be a number from 0"),
                          HasSubstr("must be host, rack or racks")));
}

TEST(ClusterFile, TakesATimeOfUtcAlone) {
  const auto measured = [](const std::string& time) {
    return parse_cluster("version = 1\nmeasured = " + time + "\n[[host]]\nname = \"a\"\n", "f");
  };

  EXPECT_EQ(measured("1970-01-02T00:00:01Z").measured_s, 86401);
  for (const char* time :
       {"5", "\"now\"", "2026-12-01", "2026-12-01T11:00:00", "2026-12-01T11:00:00+01:00"}) {
    EXPECT_THAT(error_text(ErrorCode::config, [&] { measured(time); }),
                AllOf(HasSubstr("f:2:12"), HasSubstr("must be a time like")));
  }
}

TEST(ClusterFile, RefusesWhatIsNoToml) {
  EXPECT_THAT(error_text(ErrorCode::config, [] { parse_cluster("version = ", "f.toml"); }),
              HasSubstr("f.toml:1:"));
  EXPECT_THAT(error_text(ErrorCode::config, [] { parse_cluster("", "f.toml"); }),
              HasSubstr("at least one"));
  EXPECT_THAT(
      error_text(ErrorCode::config, [] { parse_cluster("version = 1\nhost = 3\n", "f.toml"); }),
      HasSubstr("must be written [[host]]"));
}

}  // namespace
}  // namespace muster::runtime
