#include "launcher/options.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/error_text.hpp"

namespace muster::launcher {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

using Words = std::vector<std::string>;

template <typename Chosen>
Chosen parse(const Words& words) {
  return std::get<Chosen>(parse_command(words, "muster 1"));
}

std::string refusal(const Words& words) {
  return error_text(ErrorCode::config, [&] { parse_command(words, "muster 1"); });
}

TEST(Options, ReadATrainCommand) {
  const auto train = parse<TrainCommand>({"train", "--set", "a.b=1", "job.toml", "-n", "4", "--set",
                                          "c.d=x y", "--log-level", "debug", "--grace", "2.5"});

  EXPECT_EQ(train.job, "job.toml");
  EXPECT_EQ(train.ranks, 4);
  EXPECT_THAT(train.settings, ElementsAre("a.b=1", "c.d=x y"));
  EXPECT_EQ(train.log_level, LogLevel::debug);
  EXPECT_EQ(train.grace_s, 2.5);
}

TEST(Options, ReadAStallWarning) {
  EXPECT_EQ(parse<TrainCommand>({"train", "job.toml"}).stall_warning_s, 30.0);
  EXPECT_EQ(parse<TrainCommand>({"train", "job.toml", "--stall-warning", "1.5"}).stall_warning_s,
            1.5);
  EXPECT_THAT(refusal({"train", "job.toml", "--stall-warning", "0"}),
              HasSubstr("--stall-warning \"0\": allowed is 0.1 to 86400"));
}

TEST(Options, ReadAStatusCommand) {
  EXPECT_EQ(parse<StatusCommand>({"status"}).job, "");
  EXPECT_EQ(parse<StatusCommand>({"status", "3f2a90c1"}).job, "3f2a90c1");
}

TEST(Options, ReadADumpCommand) {
  const auto dump = parse<DumpCommand>({"dump", "3f2a90c1", "--entries", "7", "--json"});

  EXPECT_EQ(dump.job, "3f2a90c1");
  EXPECT_EQ(dump.entries, 7);
  EXPECT_TRUE(dump.is_json);
  EXPECT_EQ(parse<DumpCommand>({"dump", "1"}).entries, 50);
  EXPECT_THAT(refusal({"dump", "1", "--entries", "4097"}),
              HasSubstr("--entries \"4097\": allowed is 1 to 4096"));
}

TEST(Options, LeaveTheNumberOfRanksOpen) {
  EXPECT_FALSE(parse<TrainCommand>({"train", "job.toml"}).ranks.has_value());
  EXPECT_EQ(parse<PlanCommand>({"plan", "job.toml"}).ranks, 1);
}

TEST(Options, ReadAGenerateCommand) {
  const runtime::GenerateOptions options =
      parse<GenerateCommand>({"generate", "--checkpoint", "out", "--prompt", "Once -n", "--tokens",
                              "7", "--temperature", "0", "--seed", "9"})
          .options;

  EXPECT_EQ(options.checkpoint, "out");
  EXPECT_EQ(options.prompt, "Once -n");
  EXPECT_EQ(options.tokens, 7);
  EXPECT_EQ(options.temperature, 0.0);
  EXPECT_EQ(options.seed, 9);
}

TEST(Options, TakeTheCheckpointAlsoAsTheFirstWord) {
  EXPECT_EQ(parse<GenerateCommand>({"generate", "out", "--max-tokens", "3"}).options.checkpoint,
            "out");
}

TEST(Options, ReadAPlanCommand) {
  const auto plan = parse<PlanCommand>({"plan", "j", "-n", "2", "--show-config", "--set", "a.b=1"});

  EXPECT_EQ(plan.ranks, 2);
  EXPECT_TRUE(plan.show_config);
  EXPECT_FALSE(plan.show_program);
  EXPECT_THAT(plan.settings, ElementsAre("a.b=1"));
}

TEST(Options, ShowHelpThatBeginsWithAnExample) {
  for (const Words& words : {Words{"--help"}, Words{"train", "-h"}, Words{"generate", "--help"},
                             Words{"plan", "job.toml", "--help"}}) {
    EXPECT_THAT(parse<ShowText>(words).text, StartsWith("Example: muster "));
  }
  EXPECT_THAT(parse<ShowText>({"train", "--help"}).text, HasSubstr("--grace SECONDS"));
}

TEST(Options, ShowTheVersion) {
  EXPECT_EQ(parse<ShowText>({"--version"}).text, "muster 1\n");
}

TEST(Options, NameTheNearestCommand) {
  EXPECT_THAT(refusal({"trian", "x"}), HasSubstr("\"trian\", did you mean train?"));
  EXPECT_THAT(refusal({"zzzzzzzz"}), HasSubstr("there are train, generate, plan"));
  EXPECT_THAT(refusal({}), HasSubstr("no command"));
}

TEST(Options, NameTheNearestOption) {
  EXPECT_THAT(refusal({"train", "j", "--rank", "3"}), HasSubstr("did you mean --ranks?"));
  EXPECT_THAT(refusal({"train", "--sett=a.b=1", "j"}), HasSubstr("did you mean --set?"));
  EXPECT_THAT(refusal({"train", "--bogus-thing"}), HasSubstr("unknown option \"--bogus-thing\""));
  EXPECT_THAT(refusal({"--verbose", "train", "j"}), HasSubstr("unknown option \"--verbose\""));
}

TEST(Options, RefuseMoreWordsThanThereIsUseFor) {
  EXPECT_THAT(refusal({"train", "a", "b"}), HasSubstr("unexpected argument \"b\""));
  EXPECT_THAT(refusal({"train"}), HasSubstr("job is required"));
}

class BadValue : public testing::TestWithParam<std::pair<Words, std::string>> {};

TEST_P(BadValue, IsRefusedWithItsLimit) {
  const auto& [words, limit] = GetParam();

  EXPECT_THAT(refusal(words), HasSubstr(limit));
}

INSTANTIATE_TEST_SUITE_P(
    Options, BadValue,
    testing::Values(std::pair{Words{"train", "j", "-n", "0"}, "-n \"0\": allowed is 1 to 4096"},
                    std::pair{Words{"train", "j", "-n", "-1"}, "-n \"-1\": allowed is 1 to 4096"},
                    std::pair{Words{"train", "j", "-n", "4097"}, "allowed is 1 to 4096"},
                    std::pair{Words{"train", "j", "-n", "2x"}, "allowed is 1 to 4096"},
                    std::pair{Words{"plan", "j", "-n", "99999999999999999999"}, "1 to 4096"},
                    std::pair{Words{"train", "j", "--grace", "nan"}, "allowed is 0 to 86400"},
                    std::pair{Words{"train", "j", "--log-level", "x"}, "debug, info, warning"},
                    std::pair{Words{"generate", "o", "--tokens", "0"}, "allowed is 1 to 1000000"},
                    std::pair{Words{"generate", "o", "--temperature", "-1"}, "0 to 100"},
                    std::pair{Words{"generate", "o", "--seed", "-1"}, "--seed \"-1\""},
                    std::pair{Words{"train", "j", "--set"}, "--set"}));

}  // namespace
}  // namespace muster::launcher
