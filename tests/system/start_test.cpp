#include <cstdlib>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/temp_dir.hpp"
#include "tests/system/job.hpp"

namespace muster {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;

/// A variable of this process, and so of what it starts, for the time of a test.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    ::setenv(name, value.c_str(), 1);
  }
  ~Variable() { ::unsetenv(name_); }

 private:
  const char* name_;
};

TEST(Start, TellsRanksWhoTheyAreInTwoLanguages) {
  Job job(3, "2:environment=MUSTER_RANK 2:environment=WORLD_SIZE 2:environment=LOCAL_RANK",
          {"--set", "training.steps=2"});

  const Outcome outcome = job.finish();

  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("[2] MUSTER_RANK=2\n"));
  EXPECT_THAT(outcome.out, HasSubstr("[2] WORLD_SIZE=3\n"));
  EXPECT_THAT(outcome.out, HasSubstr("[2] LOCAL_RANK=2\n"));
}

TEST(Start, StripsWhatOtherLaunchersLeftBehind) {
  const Variable stale("OMPI_MCA_orte_hnp_uri", "stale");
  const Variable kept("SLURM_JOB_ID", "7");
  Job job(1, "0:environment=OMPI_MCA_orte_hnp_uri 0:environment=SLURM_JOB_ID",
          {"--set", "training.steps=2"});

  const Outcome outcome = job.finish();

  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("[0] OMPI_MCA_orte_hnp_uri=(none)\n"));
  EXPECT_THAT(outcome.out, HasSubstr("[0] SLURM_JOB_ID=7\n"));
}

TEST(Start, DoesNotLetGrandchildrenInheritTheChannel) {
  Job job(1, "0:environment=MUSTER_CONTROL_FD", {"--set", "training.steps=2"});

  const Outcome outcome = job.finish();

  EXPECT_THAT(outcome.out, HasSubstr("[0] MUSTER_CONTROL_FD=(none)\n"));
}

TEST(Start, SaysWhereTheRanksAreBound) {
  Job job(1, "0:processors", {"--set", "training.steps=2"});

  const Outcome outcome = job.finish();

  EXPECT_THAT(outcome.err, ContainsRegex("muster: 1 rank on this host, bound to processors: "
                                         "rank 0 on [0-9]"));
  EXPECT_THAT(outcome.out, ContainsRegex("\\[0\\] processors [0-9]"));
}

TEST(Start, BecomesARankWhereAnotherLauncherHasStartedIt) {
  const Variable rank("OMPI_COMM_WORLD_RANK", "0");
  const Variable size("OMPI_COMM_WORLD_SIZE", "1");
  const TempDir folder;
  Job job({"train", folder.write("job.toml", test_job()), "--set", "training.steps=7"});

  const Outcome outcome = job.finish();

  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("\nreport of rank 0\nstep 1/7 "));  // no launcher in between
}

TEST(Start, RefusesToStartRanksInsideARank) {
  const Variable rank("OMPI_COMM_WORLD_RANK", "0");
  const Variable size("OMPI_COMM_WORLD_SIZE", "2");
  Job job({"train", "job.toml", "-n", "3"});

  const Outcome outcome = job.finish();

  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("-n 3, but Open MPI has started 2 ranks"));
}

TEST(Start, ListsEveryMistakeOfTheJobOnceAndStartsNothing) {
  const TempDir folder;
  const std::string job =
      folder.write("job.toml", test_job() + "[optimizer]\nlearning_rate = 1\n[trainin]\nx = 1\n");
  Job run({"train", job, "-n", "2"});

  const Outcome outcome = run.finish();

  EXPECT_EQ(outcome.code, 2);
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(outcome.err, HasSubstr("learning_rate"));
  EXPECT_THAT(outcome.err, HasSubstr("trainin"));
  EXPECT_EQ(outcome.err.find("learning_rate"), outcome.err.rfind("learning_rate"));
}

TEST(Start, NamesTheMissingProgramOfTheRanks) {
  const Variable program("MUSTER_RANK_PROGRAM", "/nowhere/muster-rank");
  const TempDir folder;
  const std::string command = muster_program() + " train " + folder.write("job.toml", test_job()) +
                              " 2>" + folder.path("err");

  const int status = std::system(command.c_str());

  EXPECT_EQ(WEXITSTATUS(status), 2);
  std::ifstream file(folder.path("err"));
  std::string text;
  std::getline(file, text);
  std::string last;
  for (; std::getline(file, last);) text += last;
  EXPECT_THAT(text, HasSubstr("/nowhere/muster-rank, cannot be run"));
}

TEST(Start, RefusesAJobThatCanBeReadOnlyOnce) {
  Job job({"train", "/dev/stdin"});

  const Outcome outcome = job.finish();

  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("/dev/stdin is not a regular file"));
}

TEST(Start, MayRunMoreRanksThanProcessors) {
  Job job(40, "", {"--set", "training.steps=2"});

  const Outcome outcome = job.finish();

  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("[39] pid "));
}

}  // namespace
}  // namespace muster
