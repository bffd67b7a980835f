#include "kernels/base/deadline.hpp"

#include <thread>

#include <gtest/gtest.h>

namespace muster {
namespace {

using namespace std::chrono_literals;

TEST(Deadline, HasPassedOnceItsTimeIsOver) {
  const Deadline deadline = Deadline::after(5ms);
  EXPECT_FALSE(Deadline::after(1h).has_passed());

  std::this_thread::sleep_until(deadline.when());

  EXPECT_TRUE(deadline.has_passed());
  EXPECT_EQ(deadline.remaining(), 0s);
}

TEST(Deadline, NeverPassesWhenItIsNever) {
  EXPECT_TRUE(Deadline::never().is_never());
  EXPECT_FALSE(Deadline::never().has_passed());
  EXPECT_EQ(Deadline::never().remaining(), 24h);
}

TEST(Deadline, LeavesADayAtMost) {
  EXPECT_EQ(Deadline::after(1000h).remaining(), 24h);
  EXPECT_LE(Deadline::after(10s).remaining(), 10s);
  EXPECT_GT(Deadline::after_seconds(10.5).remaining(), 9s);
}

TEST(Deadline, InThePastHasPassed) {
  EXPECT_TRUE(Deadline::after(-1s).has_passed());
  EXPECT_TRUE(Deadline::after(0s).has_passed());
}

}  // namespace
}  // namespace muster
