#include "launcher/rank_environment.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster::launcher {
namespace {

using testing::Contains;
using testing::Not;
using testing::StartsWith;

const RankIdentity kIdentity = {.rank = 1,
                                .size = 4,
                                .job_id = "abc",
                                .store = {"127.0.0.1", 4242},
                                .ticket_fd = 7,
                                .control_fd = 9,
                                .trace_fd = 11};

TEST(RankEnvironment, SaysWhoTheRankIs) {
  const auto environment = rank_environment({}, kIdentity);

  for (const char* expected :
       {"MUSTER_RANK=1", "MUSTER_WORLD_SIZE=4", "MUSTER_JOB_ID=abc", "MUSTER_TICKET_FD=7",
        "MUSTER_CONTROL_FD=9", "MUSTER_TRACE_FD=11", "RANK=1", "WORLD_SIZE=4", "LOCAL_RANK=1",
        "LOCAL_WORLD_SIZE=4", "MASTER_ADDR=127.0.0.1", "MASTER_PORT=4242"}) {
    EXPECT_THAT(environment, Contains(expected));
  }
}

TEST(RankEnvironment, KeepsWhatIsNotAboutLaunching) {
  const auto environment = rank_environment(
      {"PATH=/bin", "EMPTY=", "SLURM_JOB_ID=3", "RANKING=1", "OMP_NUM_THREADS=2"}, kIdentity);

  for (const char* kept :
       {"PATH=/bin", "EMPTY=", "SLURM_JOB_ID=3", "RANKING=1", "OMP_NUM_THREADS=2"}) {
    EXPECT_THAT(environment, Contains(kept));
  }
}

TEST(RankEnvironment, ReplacesAnOlderIdentity) {
  const auto environment = rank_environment({"RANK=99", "MUSTER_RANK=98"}, kIdentity);

  EXPECT_THAT(environment, Not(Contains("RANK=99")));
  EXPECT_THAT(environment, Not(Contains("MUSTER_RANK=98")));
}

TEST(RankEnvironment, LosesWhatOtherLaunchersLeftBehind) {
  const auto environment = rank_environment(
      {"OMPI_COMM_WORLD_RANK=1", "PMI_RANK=1", "PMIX_RANK=1", "SLURM_PROCID=1", "SLURM_LOCALID=1",
       "SLURM_NODEID=0", "SLURM_STEP_NUM_TASKS=2", "TORCHELASTIC_RUN_ID=x"},
      kIdentity);

  for (const char* prefix : {"OMPI_", "PMI", "SLURM_", "TORCHELASTIC_"}) {
    EXPECT_THAT(environment, Not(Contains(StartsWith(prefix))));
  }
}

}  // namespace
}  // namespace muster::launcher
