#include "kernels/cpu/parallel.hpp"

#include <algorithm>
#include <mutex>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <omp.h>

#include "tests/support/tensor.hpp"

namespace muster::kernels::cpu {
namespace {

using Part = std::pair<std::int64_t, std::int64_t>;

std::vector<Part> parts_of(int threads, std::int64_t n, std::int64_t grain) {
  std::mutex mutex;  // guards parts
  std::vector<Part> parts;
  parallel_for(threads, n, grain, [&](std::int64_t begin, std::int64_t end) {
    const std::scoped_lock lock(mutex);
    parts.emplace_back(begin, end);
  });
  std::sort(parts.begin(), parts.end());
  return parts;
}

using Case = std::tuple<int, std::int64_t, std::int64_t>;

class ParallelFor : public testing::TestWithParam<Case> {};

TEST_P(ParallelFor, CutsTheRangeIntoAtMostOnePartPerThread) {
  const auto [wanted, n, grain] = GetParam();
  const int threads = test::team_size(wanted);

  const std::vector<Part> parts = parts_of(threads, n, grain);

  EXPECT_LE(parts.size(), static_cast<std::size_t>(threads));
  std::int64_t next = 0;
  for (const auto& [begin, end] : parts) {
    EXPECT_EQ(begin, next);
    EXPECT_GT(end, begin);
    if (end != n) {
      EXPECT_EQ(end % grain, 0);
    }
    next = end;
  }
  EXPECT_EQ(next, n);
}

TEST_P(ParallelFor, CutsTheSameWayTwice) {
  const auto [wanted, n, grain] = GetParam();
  const int threads = test::team_size(wanted);

  EXPECT_EQ(parts_of(threads, n, grain), parts_of(threads, n, grain));
}

INSTANTIATE_TEST_SUITE_P(All, ParallelFor,
                         testing::Combine(testing::Values(1, 2, 3, 7),
                                          testing::Values<std::int64_t>(0, 1, 9, 10, 11, 100, 1001),
                                          testing::Values<std::int64_t>(1, 10, 2000)));

TEST(ParallelFor, StartsNoTeamForOnePart) {
  bool in_team = true;
  parallel_for(8, 100, 100, [&](std::int64_t, std::int64_t) { in_team = omp_in_parallel() != 0; });
  EXPECT_FALSE(in_team);
}

TEST(ParallelFor, UsesAsManyThreadsAsThereAreParts) {
  EXPECT_EQ(parts_of(test::team_size(4), 100, 1).size(),
            static_cast<std::size_t>(test::team_size(4)));
}

}  // namespace
}  // namespace muster::kernels::cpu
