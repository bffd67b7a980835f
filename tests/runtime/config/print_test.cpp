#include <string>

#include <gmock/gmock.h>

#include "runtime/config/job.hpp"
#include "tests/runtime/config/job_text.hpp"

namespace muster::runtime {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST(ToToml, CanBeLoadedAgainAndGivesTheSameJob) {
  const JobConfig job =
      parse_job(small_job() +
                    "precision = \"fp16\"\n[job]\nname = \"tab\\t quote\\\" é \\u0001\"\n"
                    "[optimizer]\nlr = 0.1\nno_decay = []\n[checkpoint]\nresume = 12\n"
                    "[validation]\nsplit = 0.25\ninterval = 3\n",
                "/jobs/job.toml", {});

  const std::string text = to_toml(job);
  const JobConfig again = parse_job(text, "/elsewhere/resolved.toml", {});

  EXPECT_EQ(to_toml(again), text);
  EXPECT_EQ(again.job.name, "tab\t quote\" é \x01");
  EXPECT_EQ(again.data.train[0].path, "/jobs/text.txt");
  EXPECT_EQ(again.optimizer.lr, 0.1);
  EXPECT_TRUE(again.optimizer.no_decay.empty());
  EXPECT_EQ(again.checkpoint.resume, "12");
  EXPECT_EQ(again.training.precision, Precision::fp16);
}

TEST(ToToml, LeavesTheShapeToAModelWithAPath) {
  const std::string file = with(small_job(), "layers = 2\nhidden = 64\nheads = 4", "path = \"m\"");

  const std::string text = to_toml(parse_job(file, "/jobs/job.toml", {}));

  EXPECT_THAT(text, AllOf(HasSubstr("path = \"/jobs/m\""), Not(HasSubstr("rope_theta"))));
  EXPECT_EQ(to_toml(parse_job(text, "x.toml", {})), text);
}

TEST(ToToml, PrintsEveryDefault) {
  const std::string text = to_toml(parse_job(small_job(), "job.toml", {}));

  for (const KeyInfo& key : job_keys()) {
    const std::string name = key.name.substr(key.name.rfind('.') + 1);
    EXPECT_THAT(text, HasSubstr("\n" + name + " = ")) << key.name;
  }
  EXPECT_THAT(text, AllOf(HasSubstr("eps = 1e-08"), HasSubstr("weight_decay = 0.1"),
                          HasSubstr("max_norm = 1.0"), HasSubstr("enable = true")));
}

TEST(ToToml, KeepsNumbersExact) {
  JobConfig job = parse_job(small_job(), "job.toml", {});
  job.optimizer.lr = 0.1 + 0.2;
  job.loss_scale.init = 0x1p24;

  const JobConfig again = parse_job(to_toml(job), "job.toml", {});

  EXPECT_EQ(again.optimizer.lr, job.optimizer.lr);
  EXPECT_EQ(again.loss_scale.init, 0x1p24);
}

}  // namespace
}  // namespace muster::runtime
