#include "runtime/pairs/pair_rounds.hpp"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace muster::runtime {
namespace {

class PairRounds : public testing::TestWithParam<int> {};

TEST_P(PairRounds, NobodyMeetsTwoAtOnce) {
  const int ends = GetParam();
  for (const std::vector<int>& partners : pair_rounds(ends)) {
    ASSERT_EQ(partners.size(), static_cast<std::size_t>(ends));
    for (int end = 0; end < ends; ++end) {
      const int partner = partners[static_cast<std::size_t>(end)];
      if (partner == -1) continue;
      ASSERT_NE(partner, end);
      ASSERT_LT(partner, ends);
      EXPECT_EQ(partners[static_cast<std::size_t>(partner)], end);
    }
  }
}

TEST_P(PairRounds, EveryEndMeetsTwoOthersAtLeast) {
  const int ends = GetParam();
  std::vector<std::set<int>> met(static_cast<std::size_t>(ends));
  for (const std::vector<int>& partners : pair_rounds(ends)) {
    for (std::size_t end = 0; end < met.size(); ++end) {
      if (partners[end] != -1) met[end].insert(partners[end]);
    }
  }
  for (const std::set<int>& partners : met) {
    EXPECT_GE(partners.size(), static_cast<std::size_t>(std::min(ends - 1, 2)));
    if (ends <= kAllPairsLimit) {
      EXPECT_EQ(partners.size(), static_cast<std::size_t>(ends - 1));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ends, PairRounds,
                         testing::Values(1, 2, 3, 4, 5, 7, 8, 9, 12, 16, 31, 64, 100, 513));

class Tournament : public testing::TestWithParam<int> {};

TEST_P(Tournament, LetsEveryPairMeetOnceAndNobodyMeetTwoAtATime) {
  const int ranks = GetParam();
  std::set<std::pair<int, int>> met;
  for (int round = 0; round < tournament_rounds(ranks); ++round) {
    for (int rank = 0; rank < ranks; ++rank) {
      const int partner = tournament_partner(rank, round, ranks);
      if (partner < 0) continue;
      ASSERT_NE(partner, rank);
      EXPECT_EQ(tournament_partner(partner, round, ranks), rank);
      if (rank < partner) {
        EXPECT_TRUE(met.emplace(rank, partner).second);
      }
    }
  }
  EXPECT_EQ(static_cast<int>(met.size()), ranks * (ranks - 1) / 2);
}

INSTANTIATE_TEST_SUITE_P(Sizes, Tournament, testing::Values(2, 3, 4, 5, 8, 9, 32));

TEST(PairRoundsCost, GrowsWithTheLogarithm) {
  EXPECT_EQ(pair_rounds(1).size(), 0U);
  EXPECT_EQ(pair_rounds(2).size(), 1U);
  EXPECT_EQ(pair_rounds(5).size(), 5U);
  EXPECT_EQ(pair_rounds(8).size(), 7U);
  EXPECT_EQ(pair_rounds(512).size(), 10U);
  EXPECT_EQ(pair_rounds(500).size(), 11U);
}

}  // namespace
}  // namespace muster::runtime
