#include <csignal>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/system/job.hpp"

namespace muster {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

class StopBy : public testing::TestWithParam<int> {};

TEST_P(StopBy, ASignalLetsTheRanksSaveAndReturns75) {
  Job job(2, "");
  job.wait_for_output("step ");

  ::kill(job.pid(), GetParam());
  const Outcome outcome = job.finish();

  EXPECT_EQ(outcome.code, 75);
  EXPECT_LT(outcome.seconds, 5.0);
  EXPECT_THAT(outcome.out, HasSubstr("stopped and saved"));
  EXPECT_THAT(outcome.err, HasSubstr("ranks stop after this step and save a checkpoint"));
  EXPECT_THAT(outcome.err, HasSubstr("stopped on request"));
  EXPECT_THAT(job.left(), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Signals, StopBy, testing::Values(SIGINT, SIGTERM, SIGHUP),
                         [](const auto& test) { return "Signal" + std::to_string(test.param); });

TEST(Stop, AskedForTwiceEndsTheRanksAtOnce) {
  Job job(2, "1:sleep", {"--grace", "600"});
  job.wait_for_output("step ");

  ::kill(job.pid(), SIGINT);
  job.wait_for_output("ranks stop after this step");
  ::kill(job.pid(), SIGINT);
  const Outcome outcome = job.finish();

  EXPECT_EQ(outcome.code, 130);
  EXPECT_LT(outcome.seconds, 2.0);
  EXPECT_THAT(job.left(), IsEmpty());
}

TEST(Stop, EndsRanksThatDoNotStopInTime) {
  Job job(2, "1:sleep", {"--grace", "0.5"});
  job.wait_for_output("step ");

  ::kill(job.pid(), SIGTERM);
  const Outcome outcome = job.finish();

  EXPECT_EQ(outcome.code, 143);
  EXPECT_LT(outcome.seconds, 2.5);
  EXPECT_THAT(outcome.err, HasSubstr("ranks still run after 0.5 s"));
  EXPECT_THAT(job.left(), IsEmpty());
}

TEST(Stop, DuringWhichARankDiesIsAFailure) {
  Job job(2, "1:sleep", {"--grace", "600"});
  const pid_t pid = job.pid_of_rank(1);
  job.wait_for_output("step ");

  ::kill(job.pid(), SIGINT);
  job.wait_for_output("stopped and saved");
  ::kill(pid, SIGKILL);
  const Outcome outcome = job.finish();

  EXPECT_EQ(outcome.code, 137);
  EXPECT_THAT(outcome.err, HasSubstr("was killed by SIGKILL"));
}

TEST(Stop, MayComeFromASignalToTheRanks) {
  Job job(2, "");
  const pid_t first = job.pid_of_rank(0);
  const pid_t second = job.pid_of_rank(1);
  job.wait_for_output("step ");

  ::kill(first, SIGTERM);
  ::kill(second, SIGTERM);
  const Outcome outcome = job.finish();

  EXPECT_EQ(outcome.code, 75);
}

}  // namespace
}  // namespace muster
