#include "runtime/bench/compare.hpp"

#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/bench/json_report.hpp"
#include "tests/runtime/bench/sample_report.hpp"
#include "tests/support/error_text.hpp"
#include "tests/support/temp_dir.hpp"

namespace muster::runtime {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// A run of 20 sizes whose samples interference makes slower, by a few percent mostly and sometimes
/// by much; and every size has a level of its own in this run, as placement and clocks make it.
std::vector<ComparedTimes> run(unsigned seed, double factor = 1.0) {
  std::mt19937 random(seed);
  std::normal_distribution<double> level(1.0, 0.03);
  std::exponential_distribution<double> interference(30.0);
  std::bernoulli_distribution is_interrupted(0.05);
  std::vector<ComparedTimes> times;
  for (int size = 0; size < 20; ++size) {
    ComparedTimes row{.name = "size " + std::to_string(size)};
    const double base = factor * (10.0 + 5.0 * size) * level(random);
    for (int i = 0; i < 16; ++i) {
      const double spike = is_interrupted(random) ? 3.0 : 1.0;
      row.samples_us.push_back(base * (1.0 + interference(random)) * spike);
      row.time_us += row.samples_us.back() / 16.0;
    }
    times.push_back(row);
  }
  return times;
}

TEST(Compare, TakesEqualRunsForEqual) {
  for (unsigned seed = 0; seed < 100; seed += 2) {
    EXPECT_FALSE(compare_times(run(seed), run(seed + 1)).is_regression) << seed;
  }
}

TEST(Compare, SeesALossOfTenPercent) {
  for (unsigned seed = 0; seed < 100; seed += 2) {
    EXPECT_TRUE(compare_times(run(seed), run(seed + 1, 1.0 / 0.9)).is_regression) << seed;
  }
}

TEST(Compare, DoesNotMindAGain) {
  EXPECT_FALSE(compare_times(run(1), run(2, 0.7)).is_regression);
}

TEST(Compare, SeesOneSizeThatBecameMuchSlower) {
  std::vector<ComparedTimes> after = run(2);
  for (double& sample : after[7].samples_us) sample *= 2.5;

  const Comparison comparison = compare_times(run(1), after);

  EXPECT_TRUE(comparison.is_regression);
  EXPECT_TRUE(comparison.lines[7].is_slower);
  EXPECT_THAT(comparison_text(comparison), HasSubstr("size 7"));
  EXPECT_THAT(comparison_text(comparison), HasSubstr("# REGRESSION"));
}

TEST(Compare, JudgesASingleLineByItsOwnSpread) {
  const std::vector<ComparedTimes> before = {{.name = "x", .samples_us = {10, 11, 12, 13}}};
  const std::vector<ComparedTimes> after = {{.name = "x", .samples_us = {11, 12, 13, 14}}};
  const std::vector<ComparedTimes> steady = {{.name = "x", .samples_us = {10, 10, 10, 10}}};
  const std::vector<ComparedTimes> slower = {{.name = "x", .samples_us = {11, 11, 11, 11}}};

  EXPECT_FALSE(compare_times(before, after).is_regression);
  EXPECT_TRUE(compare_times(steady, slower).is_regression);
}

TEST(Compare, NamesWhatOnlyOneReportHas) {
  const std::vector<ComparedTimes> before = {{.name = "a", .time_us = 1.0},
                                             {.name = "b", .time_us = 1.0}};
  const std::vector<ComparedTimes> after = {{.name = "c", .time_us = 1.0},
                                            {.name = "b", .time_us = 1.0}};

  EXPECT_THAT(compare_times(before, after).unmatched, ElementsAre("a", "c"));
}

TEST(Compare, RefusesReportsWithNothingInCommon) {
  EXPECT_THAT(error_text(ErrorCode::config, [] { compare_times({{.name = "a"}}, {}); }),
              HasSubstr("in common"));
}

TEST(ReadTimes, ReadsWhatTheWriterWrote) {
  const std::vector<ComparedTimes> times = read_times(json_report(sample_report()), "a.json");

  ASSERT_EQ(times.size(), 4);
  EXPECT_EQ(times[1].name, "all_reduce_perf float sum -1 1024 B in_place");
  EXPECT_EQ(times[1].time_us, 10.24);
  EXPECT_THAT(times[1].samples_us, ElementsAre(10.0, 11.0, 10.5, 10.25));
}

TEST(ReadTimes, ReadsReportsOfNcclTests) {
  const std::string report =
      R"({"version": 3, "results": [{"size": 8, "count": 2, "type": "float", "redop": "sum",
          "root": "    -1", "out_of_place": {"time": 5.5, "alg_bw": 1, "bus_bw": 1, "nwrong": null},
          "in_place": null}]})";

  const std::vector<ComparedTimes> times = read_times(report, "a.json");

  ASSERT_EQ(times.size(), 1);
  EXPECT_EQ(times[0].time_us, 5.5);
  EXPECT_TRUE(times[0].samples_us.empty());
}

TEST(ReadTimes, SaysWhatIsWrongWithAFile) {
  EXPECT_THAT(error_text(ErrorCode::config, [] { read_times("{", "a.json"); }),
              HasSubstr("a.json is not a report"));
  EXPECT_THAT(error_text(ErrorCode::config, [] { read_times(R"({"results":[{}]})", "a.json"); }),
              HasSubstr("a.json"));
  EXPECT_THAT(error_text(ErrorCode::config, [] { compare_files("/nonexistent", "/x"); }),
              HasSubstr("/nonexistent cannot be read"));
}

}  // namespace
}  // namespace muster::runtime
