#include "runtime/bench/operations.hpp"

#include <numeric>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/error_text.hpp"

namespace muster::runtime {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(Operations, AreNamedWithOrWithoutPerf) {
  EXPECT_THAT(parse_operations("all_reduce"), ElementsAre("all_reduce"));
  EXPECT_THAT(parse_operations("alltoallv_perf"), ElementsAre("alltoallv"));
  EXPECT_EQ(parse_operations("all").size(), 10);
}

TEST(Operations, SuggestTheNearestName) {
  EXPECT_THAT(error_text(ErrorCode::config, [] { parse_operations("allreduce"); }),
              AllOf(HasSubstr("\"allreduce\""), HasSubstr("did you mean all_reduce?")));
}

struct FactorCase {
  const char* name;
  double factor;         // of 4 ranks
  std::int64_t counted;  // elements of a row of 64 asked for
};
class BusFactor : public testing::TestWithParam<FactorCase> {};

TEST_P(BusFactor, IsThatOfNcclTests) {
  const BenchOperation& operation = find_operation(GetParam().name);
  const BenchLayout layout = operation.layout({.count = 64, .rank = 1, .ranks = 4});

  EXPECT_DOUBLE_EQ(operation.bus_factor(4), GetParam().factor);
  EXPECT_EQ(operation.counted(layout, 4), GetParam().counted);
}

INSTANTIATE_TEST_SUITE_P(
    All, BusFactor,
    testing::Values(FactorCase{"all_reduce", 1.5, 64}, FactorCase{"all_gather", 0.75, 64},
                    FactorCase{"reduce_scatter", 0.75, 64}, FactorCase{"broadcast", 1.0, 64},
                    FactorCase{"reduce", 1.0, 64}, FactorCase{"alltoall", 0.75, 64},
                    FactorCase{"alltoallv", 0.75, 16 + 12 + 8 + 16}, FactorCase{"gather", 0.75, 64},
                    FactorCase{"scatter", 0.75, 64}, FactorCase{"sendrecv", 1.0, 64}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(Layouts, RoundSharesDownToSixteenBytes) {
  const BenchLayout floats =
      find_operation("all_gather").layout({.count = 31, .element_bytes = 4, .ranks = 3});
  const BenchLayout bytes =
      find_operation("reduce_scatter").layout({.count = 100, .element_bytes = 1, .ranks = 3});

  EXPECT_EQ(floats.per_rank, 8);
  EXPECT_EQ(floats.out, 24);
  EXPECT_EQ(bytes.out, 32);
  EXPECT_EQ(bytes.in, 96);
}

TEST(UnevenShares, AreWhatTheOtherSideExpects) {
  const BenchOperation& operation = find_operation("alltoallv");
  for (int a = 0; a < 5; ++a) {
    const BenchLayout mine = operation.layout({.count = 500, .rank = a, .ranks = 5});
    EXPECT_LE(std::accumulate(mine.in_counts.begin(), mine.in_counts.end(), std::int64_t{0}),
              mine.in);
    for (int b = 0; b < 5; ++b) {
      const BenchLayout theirs = operation.layout({.count = 500, .rank = b, .ranks = 5});
      EXPECT_EQ(mine.in_counts[static_cast<std::size_t>(b)],
                theirs.out_counts[static_cast<std::size_t>(a)]);
    }
  }
}

// Segments must lie one after the other and fill what a rank gets.
class ExpectedOutput : public testing::TestWithParam<std::string> {};

TEST_P(ExpectedOutput, CoversTheOutputOfEveryRankOnce) {
  const BenchOperation& operation = find_operation(GetParam());
  for (int rank = 0; rank < 3; ++rank) {
    const BenchLayout layout = operation.layout({.count = 96, .rank = rank, .ranks = 3});
    const std::vector<Segment> segments = operation.expected(
        {.layout = layout, .rank = rank, .ranks = 3, .root = rank, .is_in_place = true});
    std::int64_t end = 0;
    for (const Segment& segment : segments) {
      EXPECT_EQ(segment.begin, end);
      end += segment.count;
    }
    const std::int64_t out =
        layout.out_counts.empty()
            ? layout.out
            : std::accumulate(layout.out_counts.begin(), layout.out_counts.end(), std::int64_t{0});
    EXPECT_EQ(end, out);
  }
}

INSTANTIATE_TEST_SUITE_P(All, ExpectedOutput, testing::ValuesIn(parse_operations("all")),
                         [](const auto& test) { return test.param; });

TEST(ExpectedOutputs, OfRootedCallsAreNothingElsewhere) {
  for (const char* name : {"reduce", "gather"}) {
    const BenchOperation& operation = find_operation(name);
    const BenchLayout layout = operation.layout({.count = 96, .rank = 1, .ranks = 3});
    EXPECT_TRUE(operation.expected({.layout = layout, .rank = 1, .ranks = 3, .root = 0}).empty());
  }
}

}  // namespace
}  // namespace muster::runtime
