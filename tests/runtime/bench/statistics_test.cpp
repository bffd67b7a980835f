#include "runtime/bench/statistics.hpp"

#include <array>
#include <cmath>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

namespace muster::runtime {
namespace {

TEST(Statistics, AreElementsOfTheList) {
  std::vector<double> times(100);
  std::iota(times.rbegin(), times.rend(), 1.0);  // 100 … 1

  const IterationStats stats = statistics_of(times);

  EXPECT_EQ(stats.min, 1.0);
  EXPECT_EQ(stats.max, 100.0);
  EXPECT_EQ(stats.mean, 50.5);
  EXPECT_EQ(stats.p50, 51.0);
  EXPECT_EQ(stats.p95, 95.0);
  EXPECT_EQ(stats.p99, 99.0);
  EXPECT_DOUBLE_EQ(stats.deviation, std::sqrt(833.25));
}

TEST(Statistics, OfOneTimeAreThatTime) {
  const IterationStats stats = statistics_of(std::array{4.0});

  EXPECT_EQ(stats.p50, 4.0);
  EXPECT_EQ(stats.p99, 4.0);
  EXPECT_EQ(stats.cv_percent(), 0.0);
}

TEST(Statistics, OfNothingAreZero) {
  EXPECT_EQ(statistics_of({}).max, 0.0);
}

TEST(Quantile, InterpolatesBetweenNeighbours) {
  EXPECT_EQ(quantile({3.0, 1.0, 2.0}, 0.5), 2.0);
  EXPECT_EQ(quantile({1.0, 2.0}, 0.25), 1.25);
  EXPECT_EQ(quantile({7.0}, 0.2), 7.0);
}

TEST(AverageOverRanks, FollowsTheOption) {
  const std::array times{2.0, 1.0, 6.0};

  EXPECT_EQ(average_over_ranks(times, Averaging::rank_0), 2.0);
  EXPECT_EQ(average_over_ranks(times, Averaging::mean), 3.0);
  EXPECT_EQ(average_over_ranks(times, Averaging::min), 1.0);
  EXPECT_EQ(average_over_ranks(times, Averaging::max), 6.0);
}

}  // namespace
}  // namespace muster::runtime
