#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include "tests/support/temp_dir.hpp"
#include "tests/system/job.hpp"

namespace muster {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

/// `mpirun -n 2 muster train` with test ranks, standard output and error in one.
class UnderMpirun : public testing::Test {
 protected:
  Outcome run(const std::string& behaviour) {
    const std::string command = fmt::format(
        "{} MUSTER_RANK_PROGRAM={} OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "
        "timeout 60 mpirun --oversubscribe -n 2 {} train {} --set training.steps=12 "
        "--set 'job.name={}' >{} 2>&1 </dev/null",
        mark_, test_rank_program(), muster_program(), folder_.write("job.toml", test_job()),
        behaviour, folder_.path("out"));
    const int status = std::system(command.c_str());
    std::ifstream file(folder_.path("out"));
    return {.code = WEXITSTATUS(status),
            .out = {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()}};
  }

  TempDir folder_;
  std::string mark_ = "SYSTEM_TEST_MARK=" + folder_.path().string();
};

TEST_F(UnderMpirun, RanksFindEachOtherAndReportInWholeLines) {
  const Outcome outcome = run("none");

  EXPECT_EQ(outcome.code, 0) << outcome.out;
  EXPECT_THAT(outcome.out, HasSubstr("report of rank 0\n"));
  EXPECT_THAT(outcome.out, HasSubstr("step 5/12 "));
  EXPECT_THAT(outcome.out, HasSubstr("step 12/12 "));
  EXPECT_THAT(outcome.out, Not(HasSubstr("\r")));
  EXPECT_THAT(living_with(mark_), IsEmpty());
}

TEST_F(UnderMpirun, BringsTheExitCodeOfARankBack) {
  const Outcome outcome = run("1:exit=3");

  EXPECT_EQ(outcome.code, 3) << outcome.out;
}

TEST_F(UnderMpirun, SaysWhichRankFailedAndWhy) {
  const Outcome outcome = run("1:device=card-on-fire");

  EXPECT_EQ(outcome.code, 1) << outcome.out;
  EXPECT_THAT(outcome.out, HasSubstr("rank 1: "));
  EXPECT_THAT(outcome.out, HasSubstr("card-on-fire"));
}

}  // namespace
}  // namespace muster
