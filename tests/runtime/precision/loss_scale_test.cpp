#include "runtime/precision/loss_scale.hpp"

#include <vector>

#include <gmock/gmock.h>

namespace muster::runtime {
namespace {

using testing::ElementsAre;

/// The scale after each step; 's' is a skipped step, 'c' a clean one.
std::vector<double> scales(LossScale& scale, const char* steps) {
  std::vector<double> all;
  for (; *steps != '\0'; ++steps) {
    scale.after_step(*steps == 's');
    all.push_back(scale.value());
  }
  return all;
}

TEST(LossScale, BeginsAtInitAndHalvesOnEverySkip) {
  LossScale scale({.init = 0x1p24}, true);

  EXPECT_EQ(scale.value(), 0x1p24);
  EXPECT_THAT(scales(scale, "sss"), ElementsAre(0x1p23, 0x1p22, 0x1p21));
}

TEST(LossScale, GrowsAfterAnIntervalOfCleanStepsInARow) {
  LossScale scale({.init = 8, .interval = 3}, true);

  EXPECT_THAT(scales(scale, "cccccc"), ElementsAre(8, 8, 16, 16, 16, 32));
}

TEST(LossScale, CountsCleanStepsAnewAfterASkip) {
  LossScale scale({.init = 8, .interval = 3}, true);

  EXPECT_THAT(scales(scale, "ccscccc"), ElementsAre(8, 8, 4, 4, 4, 8, 8));
}

TEST(LossScale, StopsAtItsMinimumAndCountsTheSkipsThere) {
  LossScale scale({.init = 4, .min = 1.5}, true);

  EXPECT_THAT(scales(scale, "ss"), ElementsAre(2, 1.5));
  EXPECT_EQ(scale.state().skips_at_min, 0);
  EXPECT_THAT(scales(scale, "ss"), ElementsAre(1.5, 1.5));
  EXPECT_EQ(scale.state().skips_at_min, 2);
}

TEST(LossScale, ForgetsSkipsAtTheMinimumAfterACleanStep) {
  LossScale scale({.init = 1, .min = 1}, true);

  scales(scale, "ssc");
  EXPECT_EQ(scale.state().skips_at_min, 0);
  scales(scale, "s");
  EXPECT_EQ(scale.state().skips_at_min, 1);
}

TEST(LossScale, NeverGrowsBeyondWhatAFloatHolds) {
  LossScale scale({.init = 0x1p126, .interval = 1}, true);

  EXPECT_THAT(scales(scale, "ccc"), ElementsAre(0x1p127, 0x1p127, 0x1p127));
}

TEST(LossScale, UsesOtherFactorsAsGiven) {
  LossScale scale({.init = 100, .growth = 3, .backoff = 0.25, .interval = 1}, true);

  EXPECT_THAT(scales(scale, "cs"), ElementsAre(300, 75));
}

TEST(LossScale, ContinuesFromAState) {
  LossScale whole({.init = 8, .interval = 4}, true);
  LossScale first({.init = 8, .interval = 4}, true);
  LossScale second({.init = 8, .interval = 4}, true);

  const std::vector<double> expected = scales(whole, "csccccsc");
  scales(first, "cscc");
  second.restore(first.state());

  EXPECT_THAT(scales(second, "ccsc"),
              ElementsAre(expected[4], expected[5], expected[6], expected[7]));
}

TEST(LossScale, IsOneForEverWhenNotEnabled) {
  LossScale scale({.init = 8, .interval = 1}, false);
  scale.restore({.scale = 64});

  EXPECT_THAT(scales(scale, "scs"), ElementsAre(1, 1, 1));
  EXPECT_EQ(scale.state().skips_at_min, 0);
}

}  // namespace
}  // namespace muster::runtime
