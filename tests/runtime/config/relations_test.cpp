#include "runtime/config/relations.hpp"

#include <string>

#include <gmock/gmock.h>

#include "tests/runtime/config/job_text.hpp"
#include "tests/support/error_text.hpp"

namespace muster::runtime {
namespace {

using testing::HasSubstr;

struct BadJob {
  const char* name;
  std::string before;  // part of small_job() that is replaced; empty: `after` is appended
  std::string after;
  std::string expected;
};

class BadRelation : public testing::TestWithParam<BadJob> {};

TEST_P(BadRelation, IsReportedWithValuesAndLimit) {
  const BadJob& bad = GetParam();
  const std::string text =
      bad.before.empty() ? small_job() + bad.after : with(small_job(), bad.before, bad.after);

  const std::string message =
      error_text(ErrorCode::config, [&] { parse_job(text, "job.toml", {}); });

  EXPECT_THAT(message, HasSubstr("1 mistake in the job"));
  EXPECT_THAT(message, HasSubstr(bad.expected));
}

const BadJob kBadJobs[] = {
    {"HiddenNotDivisible", "heads = 4", "heads = 3",
     "job.toml:4:1: key \"model.heads\" is 3; must divide model.hidden = 64"},
    {"OddHeadSize", "heads = 4", "heads = 64", "into heads of 1; rotary embedding needs an even"},
    {"KvHeads", "heads = 4", "heads = 4\nkv_heads = 3",
     "job.toml:5:1: key \"model.kv_heads\" is 3; must divide model.heads = 4"},
    {"ZeroLayers", "layers = 2", "layers = 0", "key \"model.layers\" is 0; must be >= 1"},
    {"NegativeHidden", "hidden = 64", "hidden = -64",
     "job.toml:3:1: key \"model.hidden\" is -64; must be >= 0"},
    {"MissingHeads", "heads = 4\n", "",
     "job.toml:1:2: key \"model.heads\" is missing; give it, or model.path"},
    {"AbsurdSize", "layers = 2", "layers = 60000\nffn = 16777216\nvocab = 268435456",
     "the limit is 2^40"},
    {"ShapeAndPath", "layers = 2\nhidden = 64\nheads = 4", "path = \"m\"\nheads = 4",
     "job.toml:3:1: key \"model.heads\" contradicts model.path"},
    {"PretrainedWithoutPath", "heads = 4", "heads = 4\ninit = \"pretrained\"",
     "key \"model.init\" is \"pretrained\" but there is no model.path"},
    {"MaxPosition", "heads = 4", "heads = 4\nmax_position = 255",
     "key \"data.seq_len\" is 256; must be <= model.max_position = 255"},
    {"LocalBatch", "", "local_batch_size = 9\n",
     "job.toml:10:1: key \"training.local_batch_size\" is 9; must be <= "
     "training.global_batch_size = 8"},
    {"ZeroBatch", "global_batch_size = 8", "global_batch_size = 0", "is 0; must be >= 1"},
    {"TokensPerStep", "global_batch_size = 8",
     "global_batch_size = 16777216\n[data]\nseq_len = 16777216",
     "tokens per step; the limit is 2^40"},
    {"TokensPerMicroBatch", "global_batch_size = 8",
     "global_batch_size = 65\nlocal_batch_size = 65\n[data]\nseq_len = 16777216",
     "tokens per micro-batch; the limit is 2^30"},
    {"Warmup", "", "[lr_scheduler]\nwarmup_steps = 101\n",
     "key \"lr_scheduler.warmup_steps\" is 101; must be <= training.steps = 100"},
    {"WarmupAndDecay", "", "[lr_scheduler]\ntype = \"wsd\"\nwarmup_steps = 81\n",
     "is 81 and the decay takes 20 steps"},
    {"ValidationTwice", "", "[validation]\npath = \"v\"\nsplit = 0.1\n", "exclude each other"},
    {"ValidationOfNothing", "", "[validation]\ninterval = 5\n", "nothing to validate on"},
    {"LossScaleMin", "", "[loss_scale]\ninit = 2\nmin = 4\n",
     "key \"loss_scale.min\" is 4; must be <= loss_scale.init = 2"},
    {"UnknownAlgorithm", "", "[comm]\nalgo = \"rnig\"\n",
     "job.toml:11:1: key \"comm.algo\" is \"rnig\"; no collective has an algorithm"},
    {"UnknownAlgorithmHint", "", "[comm]\nalgo = \"all_reduce=rnig\"\n", "; nearest: \"ring\""},
    {"UnknownCollectiveHint", "", "[comm]\nalgo = \"allreduce=ring\"\n",
     "; nearest: \"all_reduce\""},
    {"AlgorithmWithoutChoice", "", "[comm]\nbackend = \"shm\"\nalgo = \"ring\"\n",
     "job.toml:12:1: key \"comm.algo\" is \"ring\" but comm.backend = \"shm\" has no choice of "
     "algorithms; hierarchical and tcp have"},
};

INSTANTIATE_TEST_SUITE_P(All, BadRelation, testing::ValuesIn(kBadJobs),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(Relations, AreNotJudgedForKeysThatHaveAMistakeAlready) {
  const std::string text = error_text(ErrorCode::config, [] {
    parse_job(with(small_job(), "heads = 4", "heads = \"many\""), "job.toml", {});
  });

  EXPECT_THAT(text, HasSubstr("1 mistake in the job"));
}

TEST(Relations, HoldAtTheirLimits) {
  const std::string text =
      with(small_job(), "heads = 4", "heads = 32\nkv_heads = 32\nmax_position = 256") +
      "local_batch_size = 8\n[lr_scheduler]\nwarmup_steps = 100\n"
      "[validation]\nsplit = 0.5\ninterval = 1\n";

  const JobConfig job = parse_job(text, "job.toml", {});

  EXPECT_EQ(job.lr_scheduler.warmup_steps, 100);
}

TEST(Relations, AllowAlgorithmsWhereTheBackEndHasAChoice) {
  for (const std::string backend : {"auto", "tcp", "hierarchical"}) {
    const JobConfig job = parse_job(small_job() + "[comm]\nbackend = \"" + backend + "\"\n",
                                    "job.toml", {"comm.algo=all_reduce=tree;broadcast=auto"});
    EXPECT_EQ(job.comm.algo, "all_reduce=tree;broadcast=auto");
  }
}

TEST(Relations, AllowASmallModelWithAPath) {
  const JobConfig job = parse_job(
      with(small_job(), "layers = 2\nhidden = 64\nheads = 4", "path = \"m\""), "/j/job.toml", {});

  EXPECT_EQ(job.model.path, "/j/m");
}

TEST(DecaySteps, FollowsTypeRatioAndWarmup) {
  LrSchedulerSection schedule;
  schedule.warmup_steps = 10;

  EXPECT_EQ(decay_steps(schedule, 100), 90);
  schedule.type = "constant";
  EXPECT_EQ(decay_steps(schedule, 100), 0);
  schedule.type = "linear";
  EXPECT_EQ(decay_steps(schedule, 100), 90);
  schedule.type = "wsd";
  EXPECT_EQ(decay_steps(schedule, 100), 20);
  schedule.decay_ratio = 0.5;
  EXPECT_EQ(decay_steps(schedule, 100), 50);
}

}  // namespace
}  // namespace muster::runtime
