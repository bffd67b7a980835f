#include <csignal>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/system/job.hpp"

namespace muster {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr double kEndLimitS = 2.0;  // what a failing job may take to end

TEST(Failure, ByAKilledRankNamesRankAndSignal) {
  Job job(3, "");
  const pid_t pid = job.pid_of_rank(1);
  job.wait_for_output("step ");

  ::kill(pid, SIGKILL);
  const Outcome outcome = job.finish();

  EXPECT_EQ(outcome.code, 137);
  EXPECT_LT(outcome.seconds, kEndLimitS);
  EXPECT_THAT(outcome.err,
              HasSubstr("muster: rank 1 (pid " + std::to_string(pid) + ") was killed by SIGKILL"));
  EXPECT_THAT(outcome.err, HasSubstr("ranks 0, 2 ended because rank 1 failed"));
  EXPECT_THAT(job.left(), IsEmpty());
}

TEST(Failure, BringsTheExitCodeBack) {
  Job job(2, "1:exit=3");

  const Outcome outcome = job.finish();

  EXPECT_EQ(outcome.code, 3);
  EXPECT_THAT(outcome.err, ContainsRegex("rank 1 \\(pid [0-9]+\\) exited with code 3\n"));
  EXPECT_THAT(job.left(), IsEmpty());
}

TEST(Failure, TellsTheCauseOnce) {
  Job job(2, "1:device=card-on-fire");

  const Outcome outcome = job.finish();

  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err,
              ContainsRegex("rank 1 \\(pid [0-9]+\\) exited with code 1: .*card-on-fire"));
  EXPECT_EQ(outcome.err.find("card-on-fire"), outcome.err.rfind("card-on-fire"));
}

TEST(Failure, BySegmentationFaultReturns139) {
  Job job(2, "0:signal=11");

  const Outcome outcome = job.finish();

  EXPECT_EQ(outcome.code, 139);
  EXPECT_THAT(outcome.err, HasSubstr("was killed by SIGSEGV"));
}

TEST(Failure, IsNotBlamedOnAVictimThatEndsFirst) {
  Job job(3, "0:peer=rank-2-is-gone 2:wait=50 2:exit=7");

  const Outcome outcome = job.finish();

  EXPECT_EQ(outcome.code, 7);
  EXPECT_THAT(outcome.err, ContainsRegex("muster: rank 2 \\(pid [0-9]+\\) exited with code 7\n"));
  EXPECT_THAT(outcome.err, HasSubstr("ranks 0, 1 ended because rank 2 failed"));
}

TEST(Failure, OfVictimsAloneNeverReturnsTheirCode) {
  Job job(2, "0:peer=rank-9-is-gone 1:peer=rank-9-is-gone");

  const Outcome outcome = job.finish();

  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("rank-9-is-gone"));
}

TEST(Failure, OfConfigurationIsSaidOnceWithoutBlame) {
  Job job(2, "0:config=no-such-text 1:config=no-such-text");

  const Outcome outcome = job.finish();

  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("muster: config: no-such-text\n"));
  EXPECT_THAT(outcome.err, Not(HasSubstr("failed")));
  EXPECT_EQ(outcome.err.find("no-such-text"), outcome.err.rfind("no-such-text"));
}

TEST(Failure, EndsARankThatIgnoresIt) {
  Job job(3, "0:freeze 2:sleep 1:wait=100 1:exit=3");

  job.wait_for_output("[1] pid");
  const Outcome outcome = job.finish();

  EXPECT_EQ(outcome.code, 3);
  EXPECT_LT(outcome.seconds, kEndLimitS + 1.0);  // it also starts in this time
  EXPECT_THAT(outcome.err, HasSubstr("ranks 0, 2 ended because rank 1 failed"));
  EXPECT_THAT(job.left(), IsEmpty());
}

TEST(Failure, IncludesAnEndBeforeTheWorkIsDone) {
  Job job(2, "1:exit=0");

  const Outcome outcome = job.finish();

  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("exited with code 0 before its work was done"));
}

TEST(Failure, LeavesNoGrandchildren) {
  Job job(2, "0:child 0:session 1:session 1:child 1:wait=200 1:exit=3");

  const Outcome outcome = job.finish();

  EXPECT_EQ(outcome.code, 3);
  EXPECT_THAT(job.left(), IsEmpty());
}

TEST(Success, LeavesNoGrandchildrenEither) {
  Job job(2, "0:child 0:session 1:session", {"--set", "training.steps=3"});

  const Outcome outcome = job.finish();

  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(job.left(), IsEmpty());
}

TEST(Failure, OfTheLauncherEndsTheRanks) {
  Job job(4, "1:freeze 2:sleep 3:deaf");
  job.wait_for_output("step ");
  job.pid_of_rank(1);

  ::kill(job.pid(), SIGKILL);

  EXPECT_TRUE(wait_until([&] { return job.left().empty(); },
                         std::chrono::milliseconds(static_cast<int>(kEndLimitS * 1000))));
}

}  // namespace
}  // namespace muster
