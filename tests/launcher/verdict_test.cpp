#include "launcher/verdict.hpp"

#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster::launcher {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::int64_t kMillisecond = 1'000'000;

RankEnd good(int rank) {
  return {.rank = rank, .pid = 100 + rank, .has_ended = true, .has_finished = true};
}

RankEnd with_code(int rank, int code, std::int64_t at_ms) {
  RankEnd end{.rank = rank, .pid = 100 + rank, .has_ended = true};
  end.number = code;
  end.ended_ns = at_ms * kMillisecond;
  return end;
}

RankEnd by_signal(int rank, int signal, std::int64_t at_ms) {
  RankEnd end = with_code(rank, signal, at_ms);
  end.is_signal = true;
  return end;
}

RankEnd reporting(RankEnd end, ErrorCode code, std::int64_t at_ms, std::string cause) {
  end.failing = runtime::FailingMessage{code, at_ms * kMillisecond, std::move(cause)};
  return end;
}

RankEnd told(RankEnd end, std::int64_t at_ms) {
  end.told_ns = at_ms * kMillisecond;
  return end;
}

Verdict judge_ends(const std::vector<RankEnd>& ends, Interruption interruption = {}) {
  return judge(ends, interruption);
}

TEST(Verdict, NamesTheLastOperationOfARankThatASignalEnded) {
  RankEnd end = by_signal(1, SIGKILL, 500);
  end.last_operation = "barrier (group world, lane 0, seq 4) has run for 3.1 s";

  EXPECT_THAT(judge_ends({good(0), end}).lines,
              ElementsAre("rank 1 (pid 101) was killed by SIGKILL; its last operation: barrier "
                          "(group world, lane 0, seq 4) has run for 3.1 s"));
}

TEST(Verdict, IsZeroWhenAllHaveFinished) {
  const Verdict verdict = judge_ends({good(0), good(1)});

  EXPECT_EQ(verdict.exit_code, 0);
  EXPECT_THAT(verdict.lines, IsEmpty());
}

TEST(Verdict, NamesRankPidAndSignal) {
  const Verdict verdict =
      judge_ends({told(by_signal(0, SIGTERM, 600), 500), by_signal(1, SIGKILL, 500), good(2)});

  EXPECT_EQ(verdict.exit_code, 137);
  EXPECT_THAT(verdict.lines, ElementsAre("rank 1 (pid 101) was killed by SIGKILL",
                                         "rank 0 ended because rank 1 failed"));
}

TEST(Verdict, NamesCodeAndCause) {
  const Verdict verdict =
      judge_ends({reporting(with_code(0, 3, 500), ErrorCode::device, 490, "device: it burns"),
                  told(by_signal(1, SIGKILL, 600), 500), told(with_code(2, 76, 600), 500)});

  EXPECT_EQ(verdict.exit_code, 3);
  EXPECT_THAT(verdict.lines, ElementsAre("rank 0 (pid 100) exited with code 3: device: it burns",
                                         "ranks 1, 2 ended because rank 0 failed"));
}

TEST(Verdict, PrefersAnOwnDeathToAnEarlierVictim) {
  const Verdict verdict =
      judge_ends({reporting(with_code(0, 76, 100), ErrorCode::peer_lost, 90, "peer lost: 2"),
                  with_code(1, 76, 120), by_signal(2, SIGSEGV, 300)});

  EXPECT_EQ(verdict.exit_code, 139);
  EXPECT_THAT(verdict.lines, ElementsAre("rank 2 (pid 102) was killed by SIGSEGV",
                                         "ranks 0, 1 ended because rank 2 failed"));
}

TEST(Verdict, TakesTheEarliestOfOwnDeaths) {
  const Verdict verdict =
      judge_ends({reporting(with_code(0, 1, 400), ErrorCode::timeout, 390, "timeout: of rank 1"),
                  reporting(with_code(1, 3, 300), ErrorCode::internal, 200, "internal: first")});

  EXPECT_EQ(verdict.exit_code, 3);
  EXPECT_THAT(verdict.lines,
              ElementsAre("rank 1 (pid 101) exited with code 3: internal: first",
                          "after that, rank 0 (pid 100) exited with code 1: timeout: of rank 1"));
}

TEST(Verdict, AllowsForTheDelayOfSeeingADeath) {
  // Rank 1 died silently; rank 0 stamped its complaint before the launcher saw rank 1 dead.
  const Verdict verdict =
      judge_ends({reporting(with_code(0, 1, 510), ErrorCode::io, 480, "i/o: connection reset"),
                  by_signal(1, SIGKILL, 500)});

  EXPECT_EQ(verdict.exit_code, 137);
}

TEST(Verdict, OfVictimsAloneIsAPlainFailure) {
  const Verdict verdict = judge_ends({with_code(0, 76, 100), with_code(1, 76, 90)});

  EXPECT_EQ(verdict.exit_code, 1);
  EXPECT_THAT(verdict.lines, ElementsAre("rank 1 (pid 101) exited with code 76",
                                         "rank 0 ended because rank 1 failed"));
}

TEST(Verdict, SaysAnErrorOfConfigurationOnceWhoeverFoundIt) {
  const Verdict verdict =
      judge_ends({reporting(with_code(0, 2, 100), ErrorCode::config, 90, "config: no text"),
                  reporting(with_code(1, 2, 100), ErrorCode::config, 80, "config: no text")});

  EXPECT_EQ(verdict.exit_code, 2);
  EXPECT_THAT(verdict.lines, ElementsAre("config: no text"));
}

TEST(Verdict, CountsAnEarlyEndAsAFailure) {
  const Verdict verdict = judge_ends({with_code(0, 0, 100), told(by_signal(1, SIGTERM, 110), 100)});

  EXPECT_EQ(verdict.exit_code, 1);
  EXPECT_EQ(verdict.lines.front(), "rank 0 (pid 100) exited with code 0 before its work was done");
}

TEST(Verdict, DoesNotBlameWhatARankReportsAfterItWasToldToEnd) {
  const Verdict verdict = judge_ends(
      {told(reporting(with_code(0, 1, 610), ErrorCode::internal, 600, "internal: late"), 500),
       by_signal(1, SIGABRT, 550)});

  EXPECT_EQ(verdict.exit_code, 134);
  EXPECT_THAT(verdict.lines, ElementsAre("rank 1 (pid 101) was killed by SIGABRT",
                                         "rank 0 ended because rank 1 failed"));
}

TEST(Verdict, BlamesARankThatReportedAndThenHadToBeKilled) {
  const Verdict verdict = judge_ends(
      {good(0),
       told(reporting(by_signal(1, SIGKILL, 900), ErrorCode::device, 100, "device: stuck"), 400)});

  EXPECT_EQ(verdict.exit_code, 1);
  EXPECT_THAT(verdict.lines, ElementsAre("rank 1 (pid 101) failed: device: stuck"));
}

TEST(Verdict, Is75WhenAllStopped) {
  const Verdict verdict = judge_ends({with_code(0, 75, 1), with_code(1, 75, 2)}, {SIGINT, false});

  EXPECT_EQ(verdict.exit_code, 75);
  EXPECT_THAT(verdict.lines, ElementsAre("stopped on request; the same command resumes it"));
}

TEST(Verdict, PromisesNothingToResumeFromWhereNothingIsSaved) {
  const Interruption stopped{.signal = SIGINT, .is_resumable = false};
  const Interruption killed{.signal = SIGINT, .is_killed = true, .is_resumable = false};

  EXPECT_THAT(judge_ends({with_code(0, 75, 1)}, stopped).lines, ElementsAre("stopped on request"));
  EXPECT_THAT(judge_ends({good(0)}, killed).lines,
              ElementsAre("the ranks were ended before they had stopped"));
}

TEST(Verdict, IsAFailureWhenOnlySomeStopped) {
  const Verdict verdict = judge_ends({with_code(0, 75, 1), good(1), good(2)});

  EXPECT_EQ(verdict.exit_code, 1);
  EXPECT_THAT(verdict.lines, ElementsAre("1 of 3 ranks stopped on request, but not 1, 2"));
}

TEST(Verdict, OfAnInterruptionThatHadToKillIsItsSignal) {
  const Verdict verdict =
      judge_ends({with_code(0, 75, 1), told(by_signal(1, SIGKILL, 900), 800)}, {SIGTERM, true});

  EXPECT_EQ(verdict.exit_code, 143);
}

TEST(Blame, IsNobodysWhileARankRuns) {
  EXPECT_EQ(blame_of(RankEnd{}), Blame::none);
}

TEST(RankList, FoldsNeighbours) {
  EXPECT_EQ(rank_list(std::vector<int>{0, 2, 3, 4, 7, 9, 10}), "0, 2-4, 7, 9, 10");
  EXPECT_EQ(rank_list(std::vector<int>{}), "");
}

}  // namespace
}  // namespace muster::launcher
