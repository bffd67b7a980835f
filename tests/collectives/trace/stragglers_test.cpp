#include "collectives/trace/stragglers.hpp"

#include <vector>

#include <gtest/gtest.h>

namespace muster::collectives::trace {
namespace {

TEST(Straggler, IsTheRankThatTheOthersWaitFor) {
  const std::vector<double> waited = {0, 0, 6, 0, 0, 10, 1, 0, 0};

  const auto straggler = find_straggler(waited, 3, 100.0);

  ASSERT_TRUE(straggler.has_value());
  EXPECT_EQ(straggler->rank, 2);
  EXPECT_EQ(straggler->cost_s, 8.0);
  EXPECT_EQ(straggler->share, 0.08);
  EXPECT_EQ(straggler->waited_s, 1.0);
  EXPECT_EQ(describe(*straggler, "a"),
            "rank 2 (host a) cost the others 8.0 s each, 8 % of the time; it waited 1.0 s itself");
}

TEST(Straggler, IsNobodyBelowFivePercent) {
  EXPECT_FALSE(find_straggler(std::vector<double>{0, 5, 0, 0}, 2, 100.0).has_value());
  EXPECT_TRUE(find_straggler(std::vector<double>{0, 5.1, 0, 0}, 2, 100.0).has_value());
}

TEST(Straggler, IsNobodyWhoWaitsAsMuch) {
  EXPECT_FALSE(find_straggler(std::vector<double>{0, 20, 11, 0}, 2, 100.0).has_value());
  EXPECT_TRUE(find_straggler(std::vector<double>{0, 20, 9, 0}, 2, 100.0).has_value());
}

TEST(Straggler, IsNobodyAlone) {
  EXPECT_FALSE(find_straggler(std::vector<double>{0}, 1, 100.0).has_value());
}

}  // namespace
}  // namespace muster::collectives::trace
