#include "runtime/plan/plan_file.hpp"

#include <filesystem>
#include <string>

#include <gmock/gmock.h>

#include "collectives/select.hpp"
#include "tests/support/error_text.hpp"
#include "tests/support/temp_dir.hpp"

namespace muster::runtime {
namespace {

using testing::AllOf;
using testing::HasSubstr;

PlanRecord sample() {
  collectives::AlgorithmTable table;
  table.use("all_reduce=ring");
  return {.world = 4,
          .data_degree = 4,
          .micro_batches = 3,
          .micro_batch_rows = 8,
          .backend = "tcp",
          .algorithms = table.to_text()};
}

std::string with(const std::string& before, const std::string& after) {
  std::string text = to_json(sample());
  const std::size_t at = text.find(before);
  EXPECT_NE(at, std::string::npos) << before;
  return text.replace(at, before.size(), after);
}

std::string refusal(const std::string& text) {
  return error_text(ErrorCode::config, [&] { parse_plan_record(text, "out/plan.json"); });
}

TEST(PlanFile, IsTheSameAfterATripThroughAFolder) {
  const TempDir folder;
  EXPECT_EQ(read_plan_file(folder.path().string()), std::nullopt);

  write_plan_file(folder.path().string(), {.world = 2, .backend = "shm"});
  write_plan_file(folder.path().string(), sample());

  EXPECT_EQ(read_plan_file(folder.path().string()), sample());
  EXPECT_FALSE(std::filesystem::exists(folder.path("plan.json.new")));
}

TEST(PlanFile, HasNoAlgorithmsWithoutAChoice) {
  const PlanRecord record{.world = 2, .data_degree = 2, .backend = "shm"};

  EXPECT_EQ(parse_plan_record(to_json(record), "plan.json"), record);
}

struct BadPlan {
  const char* name;
  const char* before;
  const char* after;
  const char* expected;
};

class BadPlanFile : public testing::TestWithParam<BadPlan> {};

TEST_P(BadPlanFile, IsRefusedWithFileKeyAndValue) {
  const BadPlan& bad = GetParam();

  EXPECT_THAT(
      refusal(with(bad.before, bad.after)),
      AllOf(HasSubstr("out/plan.json: "), HasSubstr(bad.expected), HasSubstr("remove the file")));
}

const BadPlan kBadPlans[] = {
    {"Format", "\"format\": 1", "\"format\": 2", "key \"format\" is \"2\"; this program reads"},
    {"Missing", "\"world\"", "\"wrold\"", "key \"world\" is missing"},
    {"Zero", "\"world\": 4", "\"world\": 0", "key \"world\" is \"0\"; must be a whole number"},
    {"Negative", "\"world\": 4", "\"world\": -4", "key \"world\" is \"-4\""},
    {"Huge", "\"world\": 4", "\"world\": 18446744073709551615", "from 1 to 1048576"},
    {"Fraction", "\"world\": 4", "\"world\": 4.5", "key \"world\" is \"4.5\""},
    {"Text", "\"data\": 4", "\"data\": \"4\"", "key \"parallelism.data\" is \"4\"; must be"},
    {"Nested", "\"micro_batches\": 3", "\"micro_batches\": []",
     "key \"parallelism.micro_batches\" is \"[]\""},
    {"Backend", "\"tcp\"", "\"tpc\"", "must be one of self, shm, hierarchical, tcp, mpi"},
    {"NoChoice", "\"tcp\"", "\"shm\"", "key \"algorithms\" is"},
    {"UnknownAlgorithm", "all_reduce=ring", "all_reduce=rnig", "no algorithm \"rnig\""},
    {"NoNumber", "alpha_s=", "alpha_s=x", "must be a table of algorithms"},
    {"Infinite", "beta_s_per_byte=", "beta_s_per_byte=inf;x=", "must be a table of algorithms"},
};

INSTANTIATE_TEST_SUITE_P(All, BadPlanFile, testing::ValuesIn(kBadPlans),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(PlanFile, IsRefusedWhereverItWasCutOff) {
  const std::string whole = to_json(sample());

  for (std::size_t bytes = 0; bytes + 2 < whole.size(); ++bytes) {
    EXPECT_THAT(refusal(whole.substr(0, bytes)), HasSubstr("was cut off")) << bytes;
  }
}

TEST(PlanFile, IsRefusedWhereItIsNoObjectOrNoFile) {
  EXPECT_THAT(refusal("[1]"), HasSubstr("no JSON object"));
  EXPECT_THAT(refusal(std::string(100'000, '[')), HasSubstr("was cut off"));
  const TempDir folder;
  std::filesystem::create_directory(folder.path("plan.json"));
  EXPECT_THAT(error_text(ErrorCode::config, [&] { read_plan_file(folder.path().string()); }),
              HasSubstr("no file"));
}

}  // namespace
}  // namespace muster::runtime
