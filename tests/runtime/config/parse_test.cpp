#include <filesystem>
#include <string>

#include <gmock/gmock.h>

#include "runtime/config/job.hpp"
#include "tests/runtime/config/job_text.hpp"
#include "tests/support/error_text.hpp"
#include "tests/support/temp_dir.hpp"

namespace muster::runtime {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

std::string mistakes(const std::string& text) {
  return error_text(ErrorCode::config, [&] { parse_job(text, "job.toml", {}); });
}

TEST(ParseJob, FillsWhatIsGivenAndKeepsDefaultsElsewhere) {
  const JobConfig job = parse_job(
      "[job]\nname = \"first\"\nseed = 7\n[optimizer]\nlr = 1\nno_decay = [\"a\"]\n[model]\n"
      "layers = 2\nhidden = 64\nheads = 4\ntie_embeddings = true\n[[data.train]]\npath = \"a\"\n"
      "[[data.train]]\npath = \"b\"\nformat = \"jsonl\"\n[training]\nsteps = 10\n"
      "global_batch_size = 4\nprecision = \"fp16\"\n",
      "job.toml", {});

  EXPECT_EQ(job.file, "job.toml");
  EXPECT_EQ(job.job.name, "first");
  EXPECT_EQ(job.job.seed, 7);
  EXPECT_EQ(job.optimizer.lr, 1.0);
  EXPECT_THAT(job.optimizer.no_decay, ElementsAre("a"));
  EXPECT_TRUE(job.model.tie_embeddings);
  EXPECT_EQ(job.training.precision, Precision::fp16);
  ASSERT_EQ(job.data.train.size(), 2U);
  EXPECT_EQ(job.data.train[1].format, "jsonl");
  EXPECT_EQ(job.optimizer.beta2, 0.95);
  EXPECT_EQ(job.checkpoint.resume, "auto");
}

TEST(ParseJob, TakesPathsFromTheFilesFolder) {
  const JobConfig job = parse_job(small_job(), "/jobs/a/job.toml", {});

  EXPECT_EQ(job.data.train[0].path, "/jobs/a/text.txt");
  EXPECT_EQ(job.job.output_dir, "out");
  EXPECT_EQ(job.model.path, "");
}

TEST(ParseJob, ReportsEveryMistakeAtOnceInTheFilesOrder) {
  const std::string text = mistakes(
      "[training]\n"
      "stepss = 10\n"
      "global_batch_size = \"8\"\n"
      "max_norm = -1\n"
      "[modell]\n"
      "layers = 2\n"
      "[optimizer]\n"
      "lr = 0.0\n"
      "beta1 = 1.0\n"
      "name = \"adam\"\n");

  EXPECT_THAT(text, HasSubstr("12 mistakes in the job job.toml"));
  EXPECT_THAT(text, HasSubstr("job.toml:2:1: key \"training.stepss\" is unknown; nearest: "
                              "\"training.steps\""));
  EXPECT_THAT(text,
              HasSubstr("job.toml:3:1: key \"training.global_batch_size\" must be an integer, "
                        "is a string \"8\""));
  EXPECT_THAT(text, HasSubstr("job.toml:4:1: key \"training.max_norm\" is -1; must be >= 0"));
  EXPECT_THAT(text, HasSubstr("job.toml:5:2: section \"modell\" is unknown; nearest: \"model\""));
  EXPECT_THAT(text, HasSubstr("job.toml:8:1: key \"optimizer.lr\" is 0; must be > 0"));
  EXPECT_THAT(text, HasSubstr("job.toml:9:1: key \"optimizer.beta1\" is 1; must be >= 0 and < 1"));
  EXPECT_THAT(text,
              HasSubstr("job.toml:10:1: key \"optimizer.name\" is \"adam\"; must be \"adamw\"; "
                        "nearest: \"adamw\""));
  EXPECT_THAT(text, HasSubstr("job.toml:1:2: key \"training.steps\" is missing"));
  EXPECT_THAT(text, HasSubstr("key \"data.train\" is missing"));
  EXPECT_THAT(text, HasSubstr("key \"model.layers\" is missing; give it, or model.path"));
  EXPECT_LT(text.find("job.toml:2:1"), text.find("job.toml:10:1"));
}

TEST(ParseJob, SuggestsTheSameKeyOfAnotherSectionAndOtherToolsWords) {
  const std::string text = mistakes(small_job() +
                                    "lr = 1e-3\nmax_grad_norm = 1.0\nlearning_rate = 1e-3\n"
                                    "qwertyuiopasdf = 1\n");

  EXPECT_THAT(text, HasSubstr("\"training.lr\" is unknown; nearest: \"optimizer.lr\""));
  EXPECT_THAT(text, HasSubstr("\"training.max_grad_norm\" is unknown; nearest: "
                              "\"training.max_norm\""));
  EXPECT_THAT(text, HasSubstr("\"training.learning_rate\" is unknown; nearest: \"optimizer.lr\""));
  EXPECT_THAT(text, Not(HasSubstr("qwertyuiopasdf\" is unknown; nearest")));
}

TEST(ParseJob, RefusesAKeyOutsideASectionAndASectionThatIsAValue) {
  const std::string text = mistakes("steps = 3\ntraining = 4\n");

  EXPECT_THAT(text,
              HasSubstr("job.toml:1:1: key \"steps\" is unknown outside a section; nearest: "));
  EXPECT_THAT(text, HasSubstr("job.toml:2:1: key \"training\" must be a section [training], is an "
                              "integer 4"));
}

TEST(ParseJob, NamesFileLineAndColumnOfWhatIsNotToml) {
  const std::string text = mistakes("[training]\nsteps = \n");

  EXPECT_THAT(text, AllOf(HasSubstr("job.toml is not TOML"), HasSubstr("job.toml:2:")));
}

TEST(ParseJob, RefusesInvalidUtf8AndADuplicateKey) {
  EXPECT_THAT(mistakes("[job]\nname = \"\xff\"\n"), HasSubstr("job.toml:2:"));
  EXPECT_THAT(mistakes("[job]\nseed = 1\nseed = 2\n"), HasSubstr("job.toml:3:"));
}

TEST(ParseJob, RefusesTrainingDataThatIsNoListOfTables) {
  EXPECT_THAT(mistakes("[data]\ntrain = \"text.txt\"\n"),
              HasSubstr("job.toml:2:1: key \"data.train\" must be a list of tables, is a string "
                        "\"text.txt\"; write [[data.train]]"));
  EXPECT_THAT(mistakes("[data.train]\npath = \"text.txt\"\n"), HasSubstr("is a table"));
  EXPECT_THAT(mistakes("[data]\ntrain = [1]\n"), HasSubstr("must be a list of tables"));
  EXPECT_THAT(mistakes("[[data.train]]\nformat = \"text\"\n"),
              HasSubstr("key \"data.train\" has a table without a path"));
  EXPECT_THAT(mistakes("[[data.train]]\npath = \"a\"\nformat = \"csv\"\n"),
              HasSubstr("must be one of \"auto\", \"text\", \"fortune\", \"jsonl\""));
}

TEST(ParseJob, TakesAnIntegerForANumberButNotANumberForAnInteger) {
  const JobConfig job = parse_job(small_job() + "max_norm = 2\n", "job.toml", {});

  EXPECT_EQ(job.training.max_norm, 2.0);
  EXPECT_THAT(
      mistakes(with(small_job(), "steps = 100", "steps = 1e3")),
      HasSubstr("key \"training.steps\" must be an integer, is a number with a point 1000"));
  EXPECT_THAT(mistakes(small_job() + "max_norm = nan\n"), HasSubstr("must be a finite number"));
  EXPECT_THAT(mistakes(small_job() + "max_norm = inf\n"), HasSubstr("must be a finite number"));
}

TEST(ParseJob, TakesAStepToResumeFromAsNumberOrText) {
  const auto resume = [](const std::string& value) {
    return parse_job(small_job() + "[checkpoint]\nresume = " + value + "\n", "job.toml", {})
        .checkpoint.resume;
  };

  EXPECT_EQ(resume("40"), "40");
  EXPECT_EQ(resume("\"40\""), "40");
  EXPECT_EQ(resume("\"never\""), "never");
  EXPECT_THAT(mistakes(small_job() + "[checkpoint]\nresume = -1\n"),
              HasSubstr("or the number of a step"));
}

TEST(ParseJob, EscapesWhatTheFileWouldPrint) {
  const std::string text = mistakes("[job]\n\"\\u001b[31m\" = 1\nname = 1\n");

  EXPECT_THAT(text, AllOf(HasSubstr("\\x1b[31m"), Not(HasSubstr("\x1b"))));
}

TEST(LoadJob, NamesAMissingFile) {
  const std::string text = error_text(ErrorCode::config, [] { load_job("/nowhere/job.toml", {}); });

  EXPECT_THAT(text, AllOf(HasSubstr("/nowhere/job.toml"), HasSubstr("No such file")));
}

TEST(LoadJob, ReadsAFile) {
  const TempDir dir;

  const JobConfig job = load_job(dir.write("job.toml", small_job()), {});

  EXPECT_EQ(job.data.train[0].path, dir.path("text.txt"));
}

}  // namespace
}  // namespace muster::runtime
