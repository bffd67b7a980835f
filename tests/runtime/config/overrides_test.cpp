#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "runtime/config/job.hpp"
#include "tests/runtime/config/job_text.hpp"
#include "tests/support/error_text.hpp"

namespace muster::runtime {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

JobConfig job_with(const std::vector<std::string>& overrides) {
  return parse_job(small_job(), "/jobs/job.toml", overrides);
}

std::string mistakes(const std::vector<std::string>& overrides) {
  return error_text(ErrorCode::config, [&] { job_with(overrides); });
}

TEST(Overrides, ReplaceTheFilesValueAndTheLastOneWins) {
  const JobConfig job = job_with({"training.steps=5", "training.steps=6", "optimizer.lr=1e-3",
                                  "training.precision=fp32", "model.tie_embeddings=true"});

  EXPECT_EQ(job.training.steps, 6);
  EXPECT_EQ(job.optimizer.lr, 1e-3);
  EXPECT_EQ(job.training.precision, Precision::fp32);
  EXPECT_TRUE(job.model.tie_embeddings);
}

TEST(Overrides, TakeTextWithAndWithoutQuotes) {
  EXPECT_EQ(job_with({"job.name=a b = \"c"}).job.name, "a b = \"c");
  EXPECT_EQ(job_with({"job.name=\"a\""}).job.name, "a");
  EXPECT_EQ(job_with({"job.name=5"}).job.name, "5");
  EXPECT_THAT(job_with({"optimizer.no_decay=[\"x\"]"}).optimizer.no_decay, ElementsAre("x"));
}

TEST(Overrides, TakePathsFromTheWorkingDirectory) {
  const std::string here = std::filesystem::current_path().string();

  EXPECT_EQ(job_with({"data.train.path=b.txt"}).data.train[0].path, here + "/b.txt");
  EXPECT_EQ(job_with({"validation.path=/v"}).validation.path, "/v");
}

TEST(Overrides, GiveDataSources) {
  const JobConfig one = job_with({"data.train.format=jsonl"});
  const JobConfig two = job_with({"data.train=[{path=\"/a\"}, {path=\"/b\", format=\"text\"}]"});

  ASSERT_EQ(one.data.train.size(), 1U);
  EXPECT_EQ(one.data.train[0].path, "/jobs/text.txt");
  EXPECT_EQ(one.data.train[0].format, "jsonl");
  ASSERT_EQ(two.data.train.size(), 2U);
  EXPECT_EQ(two.data.train[1].path, "/b");
}

TEST(Overrides, RefuseToGuessWhichOfSeveralSourcesIsMeant) {
  EXPECT_THAT(mistakes({"data.train=[{path=\"/a\"}, {path=\"/b\"}]", "data.train.path=/c"}),
              HasSubstr("key \"data.train.path\" would set one of 2 sources"));
}

TEST(Overrides, SupplyAKeyThatTheFileLacks) {
  const std::string file = with(small_job(), "steps = 100\n", "");

  EXPECT_EQ(parse_job(file, "job.toml", {"training.steps=3"}).training.steps, 3);
}

TEST(Overrides, AreReportedByTheirText) {
  const std::string text =
      mistakes({"training.stes=5", "steps", "=3", "training.steps=-1",
                "training.global_batch_size=many", "optimizer.lr=[", "data.train.paht=x"});

  EXPECT_THAT(text,
              AllOf(HasSubstr("7 mistakes"),
                    HasSubstr("--set training.stes=5: key \"training.stes\" is unknown; "
                              "nearest: \"training.steps\""),
                    HasSubstr("--set steps: must have the form section.key=value"),
                    HasSubstr("--set =3: must have the form"),
                    HasSubstr("--set training.steps=-1: key \"training.steps\" is -1; must be "
                              ">= 1"),
                    HasSubstr("--set training.global_batch_size=many: key "
                              "\"training.global_batch_size\" has a value that is not TOML"),
                    HasSubstr("--set optimizer.lr=[: ")));
  EXPECT_THAT(text, HasSubstr("nearest: \"data.train.path\""));
}

}  // namespace
}  // namespace muster::runtime
