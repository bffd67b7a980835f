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

TEST(Stall, OfAStoppedRankIsExplainedOnce) {
  Job job(2, "together", {"--stall-warning", "0.5"});
  const pid_t pid = job.pid_of_rank(1);
  job.wait_for_output("step ");

  ::kill(pid, SIGSTOP);
  job.wait_for_output("lets it go on");
  ::kill(job.pid(), SIGINT);
  ::kill(pid, SIGCONT);
  const Outcome outcome = job.finish();

  EXPECT_EQ(outcome.code, 75);
  EXPECT_THAT(
      outcome.err,
      ContainsRegex("muster: stall: rank 1 \\(pid " + std::to_string(pid) +
                    ", host [^)]+\\) (has not entered|does not go on in) all_reduce f32\\[4\\] "
                    "sum \"gradients\" \\(group data, lane 0, seq [0-9]+\\): rank 0 waits "
                    "[0-9.]+ m?s for it; its last operation: all_reduce .* ago; it is in: "
                    ".*, since .*; state T \\(stopped\\)"));
  EXPECT_EQ(outcome.err.find("stall:"), outcome.err.rfind("stall:"));
  EXPECT_THAT(job.left(), IsEmpty());
}

TEST(Stall, OfABusyRankShowsItsStack) {
  Job job(2, "together 1:wait=1500", {"--stall-warning", "0.5"});

  job.wait_for_output("stall: rank 1");
  job.wait_for_output("muster_test_rank)");
  ::kill(job.pid(), SIGINT);
  const Outcome outcome = job.finish();

  EXPECT_THAT(outcome.err, ContainsRegex("muster:   at .*nanosleep"));
  EXPECT_THAT(outcome.err,
              ContainsRegex("muster:   at .*RankSession::run\\(.*\\(muster_test_rank\\)\n"));
}

TEST(Stall, IsNoMatterWhereNobodyWaitsForLong) {
  Job job(2, "together", {"--stall-warning", "5", "--set", "training.steps=30"});

  const Outcome outcome = job.finish();

  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, Not(HasSubstr("stall")));
}

TEST(Death, BySignalNamesTheLastOperation) {
  Job job(2, "together");
  const pid_t pid = job.pid_of_rank(1);
  job.wait_for_output("step ");

  ::kill(pid, SIGKILL);
  const Outcome outcome = job.finish();

  EXPECT_EQ(outcome.code, 137);
  EXPECT_THAT(outcome.err, ContainsRegex("was killed by SIGKILL; its last operation: all_reduce "
                                         "f32\\[4\\] sum \"gradients\" \\(group data, lane 0, seq "
                                         "[0-9]+\\) (ended|has run for) .*; it was in: "));
}

}  // namespace
}  // namespace muster
