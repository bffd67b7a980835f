#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/bench/expect.hpp"
#include "runtime/bench/fit.hpp"
#include "runtime/bench/pairs.hpp"
#include "tests/runtime/bench/sample_report.hpp"

namespace muster::runtime {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

using Matrix = std::vector<std::vector<double>>;

/// Times of n ranks where a pair runs at the pace of its worse end, up to 10 % slower by noise.
Matrix times_of(const std::vector<double>& pace, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> noise(1.0, 1.1);
  const std::size_t n = pace.size();
  Matrix times(n, std::vector<double>(n, 0.0));
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      times[i][j] = times[j][i] = 3.0 * std::max(pace[i], pace[j]) * noise(random);
    }
  }
  return times;
}

std::vector<Member> members(int n) {
  std::vector<Member> result;
  result.reserve(static_cast<std::size_t>(n));
  for (int i = 0; i < n; ++i) result.push_back({.rank = i, .host = "host" + std::to_string(i)});
  return result;
}

PairMatrix pairs_of(const Matrix& times) {
  PairMatrix pairs{.latency_us = times, .bandwidth = times};
  for (auto& row : pairs.bandwidth) {
    for (double& value : row) value = value > 0.0 ? 10.0 / value : 0.0;
  }
  return pairs;
}

TEST(PairFindings, NameASlowLinkByBothItsEnds) {
  Matrix times = times_of({1, 1, 1, 1, 1}, 1);
  times[1][4] = times[4][1] *= 3.0;

  const auto findings = describe_pairs(pairs_of(times), members(5));

  ASSERT_EQ(findings.size(), 2);
  EXPECT_THAT(findings[0],
              HasSubstr("Slow link: rank 1 (host host1) - rank 4 (host host4): 8 B takes"));
}

TEST(PairFindings, NameTheHostOfASlowEnd) {
  const auto findings = describe_pairs(pairs_of(times_of({1, 1, 4, 1}, 1)), members(4));

  ASSERT_EQ(findings.size(), 2);
  EXPECT_THAT(findings[0], HasSubstr("Slow end: rank 2 (host host2): 8 B takes"));
  EXPECT_THAT(findings[1], HasSubstr("Slow end: rank 2 (host host2): 1 MiB takes"));
}

TEST(PairFindings, OfTwoRanksNameTheLink) {
  EXPECT_THAT(describe_pairs(pairs_of({{0, 2}, {2, 0}}), members(2)),
              ElementsAre(HasSubstr("Link rank 0 (host host0) - rank 1 (host host1): 2.00 us")));
}

TEST(PairFindings, SayThatNothingIsWrong) {
  EXPECT_THAT(describe_pairs(pairs_of(times_of({1, 1, 1}, 1)), members(3)),
              ElementsAre("Pairs: no slow end and no slow link"));
}

TEST(Fit, FindsTheLineOfExactPoints) {
  std::vector<TimedSize> points;
  for (int i = 0; i < 12; ++i) {
    const double bytes = std::ldexp(8.0, 2 * i);
    points.push_back({bytes, 5e-6 + 1e-10 * bytes});
  }

  const auto fit = fit_line(points);

  ASSERT_TRUE(fit);
  EXPECT_NEAR(fit->alpha_s, 5e-6, 1e-12);
  EXPECT_NEAR(fit->beta_s, 1e-10, 1e-17);
  EXPECT_LT(fit->residual_percent, 1e-6);
}

TEST(Fit, CoversTheTruthWithItsInterval) {
  int covered = 0;
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    std::normal_distribution<double> noise(1.0, 0.05);
    std::vector<TimedSize> points;
    for (int i = 0; i < 24; ++i) {
      const double bytes = std::ldexp(8.0, i);
      points.push_back({bytes, (5e-6 + 1e-10 * bytes) * noise(random)});
    }
    const auto fit = fit_line(points);
    ASSERT_TRUE(fit);
    if (std::abs(fit->alpha_s - 5e-6) <= fit->alpha_error) ++covered;
  }
  EXPECT_GE(covered, 180);  // 95 % of 200, less four standard errors
}

TEST(Fit, NeedsThreePointsOfDifferentSizes) {
  EXPECT_FALSE(fit_line(std::vector<TimedSize>{{8, 1e-6}, {16, 1e-6}}));
  EXPECT_FALSE(fit_line(std::vector<TimedSize>{{8, 1e-6}, {8, 1e-6}, {8, 2e-6}}));
}

// What varies among sizes that all take one latency is noise: no bandwidth comes of it.
TEST(Fit, SaysNoBandwidthUnlessTwoSizesTakeTwiceAsLongForTheirBytes) {
  const auto points_to = [](std::int64_t largest) {
    std::vector<TimedSize> points;
    for (std::int64_t size = 8; size <= largest; size *= 4) {
      const auto bytes = static_cast<double>(size);
      points.push_back({bytes, 5e-6 + 1e-10 * bytes});
    }
    return points;
  };

  const auto small = fit_line(points_to(131072));
  const auto large = fit_line(points_to(524288));
  const auto falling = fit_line(std::vector<TimedSize>{{8, 5e-6}, {64, 4.9e-6}, {512, 4.8e-6}});

  ASSERT_TRUE(small && large && falling);
  EXPECT_EQ(small->beta_s, 0.0);
  EXPECT_NEAR(small->alpha_s, 5e-6, 2e-6);
  EXPECT_EQ(falling->beta_s, 0.0);
  EXPECT_NEAR(falling->alpha_s, 4.9e-6, 1e-7);
  EXPECT_NEAR(large->beta_s, 1e-10, 1e-17);
}

TEST(Fit, IsOnePerOperationTypeAndReduction) {
  std::vector<BenchRow> rows;
  for (const char* reduction : {"sum", "max"}) {
    for (const std::int64_t bytes : {8, 512, 4096}) {
      BenchRow row{
          .operation = "all_reduce", .bytes = bytes, .type = "float", .reduction = reduction};
      row.out_of_place.time_us = 1.0 + 0.01 * static_cast<double>(bytes);
      rows.push_back(row);
    }
  }
  const auto fits = fit_rows(rows);

  ASSERT_EQ(fits.size(), 2);
  EXPECT_EQ(fits[0].type, "float sum");
  EXPECT_NEAR(fits[1].fit.beta_s, 1e-8, 1e-14);
}

TEST(Expect, TakesTheSlowestPairOfTheRing) {
  PairMatrix pairs = pairs_of(times_of({1, 1, 1, 1}, 1));
  pairs.bandwidth[2][3] = pairs.bandwidth[3][2] = 0.5;
  pairs.latency_us[2][3] = 100.0;
  pairs.bandwidth[0][2] = 0.1;  // not in the ring

  const LimitingPair pair = limiting_pair(pairs);

  EXPECT_EQ(pair.a, 2);
  EXPECT_EQ(pair.b, 3);
  EXPECT_DOUBLE_EQ(pair.alpha_s, 1e-4);
  EXPECT_NEAR(pair.beta_s, 2e-9 - 1e-4 / 1048576, 1e-15);
}

struct CostCase {
  const char* operation;
  double bytes;
  double seconds;  // of 4 ranks with alpha 1 s and beta 1 s/byte: L = 2
};
class ExpectedCost : public testing::TestWithParam<CostCase> {};

TEST_P(ExpectedCost, IsThatOfTheBestAlgorithm) {
  EXPECT_DOUBLE_EQ(
      expected_seconds(GetParam().operation, GetParam().bytes, 4, {.alpha_s = 1.0, .beta_s = 1.0}),
      GetParam().seconds);
}

INSTANTIATE_TEST_SUITE_P(
    Costs, ExpectedCost,
    testing::Values(CostCase{"all_reduce", 1, 4.0}, CostCase{"all_reduce", 8, 4.0 + 12.0},
                    CostCase{"all_gather", 8, 2.0 + 6.0}, CostCase{"reduce_scatter", 8, 8.0},
                    CostCase{"gather", 8, 8.0}, CostCase{"broadcast", 1, 4.0},
                    CostCase{"reduce", 8, 12.0}, CostCase{"alltoall", 8, 3.0 + 6.0},
                    CostCase{"alltoallv", 0.5, 2.0 * 1.25}, CostCase{"sendrecv", 8, 9.0}));

TEST(Expect, SaysHowNearEveryRowCame) {
  BenchReport report = sample_report();
  report.pairs = pairs_of({{0, 2}, {2, 0}});
  report.rows[0].in_place.time_us = 1.0;

  add_expectations(report);

  ASSERT_TRUE(report.rows[0].expectation);
  EXPECT_DOUBLE_EQ(report.rows[0].expectation->reached_percent,
                   100.0 * report.rows[0].expectation->time_us / 1.0);
  EXPECT_THAT(report.pairs->findings.back(), HasSubstr("limited by rank 0 (host alpha) - rank 1"));
}

}  // namespace
}  // namespace muster::runtime
