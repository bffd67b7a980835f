#include "runtime/bench/text_report.hpp"

#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/bench/osu_report.hpp"
#include "tests/runtime/bench/sample_report.hpp"

namespace muster::runtime {
namespace {

using testing::ContainsRegex;
using testing::EndsWith;
using testing::HasSubstr;

struct Cell {
  double value;
  int width;
  const char* text;
};
class Fitted : public testing::TestWithParam<Cell> {};

TEST_P(Fitted, KeepsAsManyDecimalsAsThereIsRoom) {
  EXPECT_EQ(fitted(GetParam().value, GetParam().width), GetParam().text);
}

INSTANTIATE_TEST_SUITE_P(Times, Fitted,
                         testing::Values(Cell{0.0, 7, "   0.00"}, Cell{9.876, 7, "   9.88"},
                                         Cell{1806.7, 7, "1806.70"}, Cell{10094.4, 7, "10094.4"},
                                         Cell{123456.7, 7, " 123457"},
                                         Cell{1234567.0, 7, "1234567"},
                                         Cell{12345678.0, 7, "1.2e+07"}));
INSTANTIATE_TEST_SUITE_P(Bandwidths, Fitted,
                         testing::Values(Cell{297.16, 6, "297.16"}, Cell{1000.0, 6, "1000.0"},
                                         Cell{12345.6, 6, " 12346"}, Cell{123456.0, 6, "123456"},
                                         Cell{1234567.0, 6, " 1e+06"}));

std::vector<std::string> sample_lines() {
  std::ifstream file(MUSTER_NCCL_SAMPLE);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

std::vector<std::string> words(const std::string& line) {
  std::istringstream stream(line);
  return {std::istream_iterator<std::string>(stream), {}};
}

/// The first row of the sample: 512 MiB between two devices.
BenchRow first_sample_row() {
  BenchRow row{.operation = "all_reduce",
               .bytes = 536870912,
               .count = 134217728,
               .type = "float",
               .reduction = "sum"};
  row.out_of_place = {.time_us = 1806.7, .algbw = 297.16, .busbw = 586.06, .wrong = 0};
  row.in_place = {.time_us = 1835.9, .algbw = 292.43, .busbw = 576.74, .wrong = 0};
  return row;
}

TEST(TextRow, HasTheColumnsOfNcclTests) {
  const std::string sample = sample_lines().at(9);
  const std::string ours = text_row(first_sample_row(), {});

  EXPECT_EQ(ours,
            "   536870912     134217728     float     sum      -1  1806.70  297.16  586.06       0"
            "  1835.90  292.43  576.74       0");
  // An older nccl-tests wrote the sample: its times have one decimal less, #wrong one blank less.
  EXPECT_EQ(ours.substr(0, 54), sample.substr(0, 54));
  const std::vector<std::string> theirs = words(sample);
  const std::vector<std::string> mine = words(ours);
  ASSERT_EQ(mine.size(), theirs.size());
  for (std::size_t i = 5; i < mine.size(); ++i) {
    EXPECT_EQ(std::stod(mine[i]), std::stod(theirs[i])) << "column " << i;
  }
}

TEST(TextHeader, NamesTheColumnsOfTheSample) {
  const std::vector<std::string> sample = sample_lines();
  std::istringstream header(text_header({}));
  std::vector<std::string> lines;
  for (std::string line; std::getline(header, line);) lines.push_back(line);

  ASSERT_EQ(lines.size(), 4);
  EXPECT_EQ(lines[0], sample[5]);
  EXPECT_EQ(lines[1], sample[6]);
  EXPECT_EQ(words(lines[2]), words(sample[7]));
  EXPECT_EQ(words(lines[3]), words(sample[8]));
}

TEST(TextRow, ShowsWhatWasNotChecked) {
  BenchRow row = first_sample_row();
  row.in_place.wrong.reset();

  EXPECT_THAT(text_row(row, {}), EndsWith("  576.74    N/A"));
}

TEST(TextRow, AppendsWhatParsersDoNotKnow) {
  BenchRow row = first_sample_row();
  row.time = "2026-01-01 00:00:05";
  row.out_of_place.iterations_us = {{1.0, 2.0, 3.0}, {2.0, 1.0, 1.0}};  // slowest: 2 2 3
  row.in_place.iterations_us = {{4.0}, {5.0}};

  EXPECT_THAT(text_row(row, {.timestamps = true, .percentiles = true}),
              EndsWith("       0  2026-01-01 00:00:05     2.00     3.00     3.00     3.00     5.00"
                       "     5.00     5.00     5.00"));
  EXPECT_THAT(text_row(row, {.per_iteration = true}),
              HasSubstr("586.06       0     2.00     3.00     3.00    20.20  1835.90"));
}

TEST(TextHeader, HasATitleForEveryColumn) {
  BenchRow row = first_sample_row();
  row.time = "now";
  for (const bool per_iteration : {false, true}) {
    for (const bool percentiles : {false, true}) {
      BenchOptions options;
      options.per_iteration = per_iteration;
      options.percentiles = percentiles;
      options.timestamps = true;
      std::istringstream header(text_header(options));
      std::string line;
      for (int i = 0; i < 3; ++i) std::getline(header, line);
      EXPECT_EQ(words(line).size() - 1, words(text_row(row, options)).size()) << line;  // '#'
    }
  }
}

TEST(TextFooter, SaysWhetherAllIsWell) {
  EXPECT_EQ(text_footer({.bandwidth = 745.53}, "all_reduce"),
            "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 745.53 \n#\n"
            "# Collective test concluded: all_reduce_perf");
  EXPECT_THAT(text_footer({.failed_checks = 2,
                           .bandwidth = 1.5,
                           .is_bandwidth_checked = true,
                           .is_bandwidth_enough = false},
                          "reduce"),
              HasSubstr("values : 2 FAILED\n# Avg bus bandwidth    : 1.5 FAILED\n"));
}

TEST(TextPreamble, NamesOptionsAndRanks) {
  const std::string text = text_preamble(sample_report(), "all_reduce");

  EXPECT_THAT(text, HasSubstr("nccl-tests version 2.19.6"));
  EXPECT_THAT(text, HasSubstr("# Collective test starting: all_reduce_perf\n"));
  EXPECT_THAT(text, HasSubstr("\n# nThread 1 nGpus 1 minBytes 1024 maxBytes 2048 step: 2(factor) "
                              "warmup iters: 1 iters: 20 agg iters: 1 validation: 1 graph: 0 "
                              "unalign: 0\n"));
  EXPECT_THAT(text, HasSubstr("#\n# Using devices\n"));
  EXPECT_THAT(text, EndsWith("#  Rank  1 Group  0 Pid     72 on      alpha device  1 "
                             "[0000:00:00] cpu, 1 thread"));
}

TEST(TextAdditions, AreCommentLines) {
  BenchReport report = sample_report();
  report.options.pairs = true;
  report.pairs = PairMatrix{.latency_us = {{0.0, 1.5}, {1.5, 0.0}},
                            .bandwidth = {{0.0, 4.0}, {4.0, 0.0}},
                            .findings = {"Slow end: rank 1"}};
  report.fits = {{"all_reduce", "float sum", {.alpha_s = 1e-6, .beta_s = 1e-9, .points = 3}},
                 {"broadcast", "float", {.alpha_s = 2e-6, .points = 3}}};
  report.rows[0].expectation = Expectation{.time_us = 5.0, .reached_percent = 50.0};

  const std::string text = text_additions(report);

  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_EQ(line.front(), '#') << line;
  EXPECT_THAT(text, ContainsRegex("#     0        -     1.50\n"));
  EXPECT_THAT(text, HasSubstr("# Slow end: rank 1"));
  EXPECT_THAT(text, HasSubstr("Fit all_reduce float sum: 1 us"));
  EXPECT_THAT(text, HasSubstr("Fit broadcast float: 2 us +- 0, latency alone: "));
  EXPECT_THAT(text, HasSubstr("1024 B: the links allow 5 us, reached 50 %"));
  EXPECT_EQ(text_additions(sample_report()), "");
}

TEST(OsuReport, HasItsColumns) {
  BenchRow row = first_sample_row();
  row.iterations = 2;
  row.out_of_place.iterations_us = {{1.0, 3.0}, {4.0, 6.0}};

  EXPECT_THAT(osu_header(sample_report(), "all_reduce"),
              EndsWith("# Size         Avg Latency(us)     Min Latency(us)     Max Latency(us)"
                       "          Iterations"));
  EXPECT_EQ(osu_row(row),
            "536870912                 3.50                2.00                5.00"
            "                   2");
}

TEST(Summary, CountsFailedChecksAndMeansBandwidth) {
  BenchReport report = sample_report();
  report.rows[1].in_place.wrong = 3;

  const BenchSummary summary = summarize(report.rows, -1.0);

  EXPECT_EQ(summary.failed_checks, 1);
  EXPECT_DOUBLE_EQ(summary.bandwidth, 0.2);
  EXPECT_FALSE(summary.is_good());
}

TEST(Summary, DemandsNineTenthsOfTheBandwidth) {
  const BenchReport report = sample_report();

  EXPECT_TRUE(summarize(report.rows, 0.22).is_bandwidth_enough);
  EXPECT_FALSE(summarize(report.rows, 0.23).is_bandwidth_enough);
}

}  // namespace
}  // namespace muster::runtime
