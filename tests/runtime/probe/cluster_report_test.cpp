#include "runtime/probe/cluster_report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/probe/heat_map.hpp"
#include "runtime/probe/level_fit.hpp"

namespace muster::runtime {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

Cluster with_a_slow_host() {
  Cluster cluster;
  cluster.hosts = {{.name = "a"}, {.name = "b<i>"}, {.name = "c"}};
  for (int a = 0; a < 3; ++a) {
    for (int b = a + 1; b < 3; ++b) {
      const double rate = b == 2 ? 1.2e7 : 1.2e8;
      cluster.pairs.push_back(
          {.a = a, .b = b, .latency_s = 3e-5, .ab_bytes_per_s = rate, .ba_bytes_per_s = rate});
    }
  }
  cluster.levels = fit_levels(cluster);
  cluster.findings = find_slow(cluster);
  return cluster;
}

TEST(ClusterReport, ShowsLevelsMatrixAndWhatIsSlow) {
  EXPECT_THAT(cluster_report(with_a_slow_host()),
              AllOf(HasSubstr("3 ranks on 3 hosts"), HasSubstr("between hosts"),
                    HasSubstr("low confidence"), HasSubstr("from \\ to"),
                    HasSubstr("slow host: c: bandwidth 12 MB/s, 10.0 times slower")));
}

TEST(ClusterReport, LeavesALargeMatrixToTheFiles) {
  EXPECT_THAT(cluster_report(with_a_slow_host(), 2),
              AllOf(Not(HasSubstr("from \\ to")), HasSubstr("--html")));
}

TEST(ClusterReport, SaysThatNothingIsSlow) {
  Cluster cluster;
  cluster.hosts = {{.name = "a", .ranks = 2}};
  EXPECT_THAT(cluster_report(cluster), HasSubstr("no host, link or uplink is slower"));
  cluster.hosts.push_back({.name = "b"});
  EXPECT_THAT(cluster_report(cluster), HasSubstr("nothing to compare"));
}

TEST(HeatMap, HasEveryValueAndEscapesNames) {
  const std::string page = cluster_html(with_a_slow_host());

  EXPECT_THAT(page, AllOf(HasSubstr("a to c: 12 MB/s"), HasSubstr("b&lt;i&gt;"),
                          HasSubstr("slow host: c"), Not(HasSubstr("b<i>"))));
  EXPECT_THAT(page,
              AllOf(Not(HasSubstr("http:")), Not(HasSubstr("https:")), Not(HasSubstr("src="))));
}

TEST(Texts, HaveThreeDigits) {
  EXPECT_EQ(rate_text(1.234e9), "1.23 GB/s");
  EXPECT_EQ(rate_text(9.87e8), "987 MB/s");
  EXPECT_EQ(rate_text(0.0), "-");
  EXPECT_EQ(time_text(2.5e-7), "0.25 us");
  EXPECT_EQ(time_text(1.53e-3), "1.53 ms");
  EXPECT_EQ(time_text(2.0), "2 s");
}

}  // namespace
}  // namespace muster::runtime
