#include "runtime/world/slurm.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/error_text.hpp"

namespace muster::runtime {
namespace {

using Variables = Environment::Variables;

TEST(TasksPerNode, ExpandsRepeats) {
  EXPECT_EQ(parse_tasks_per_node("4", "V"), (std::vector<int>{4}));
  EXPECT_EQ(parse_tasks_per_node("2(x2),1", "V"), (std::vector<int>{2, 2, 1}));
  EXPECT_EQ(parse_tasks_per_node("4,1(x2)", "V"), (std::vector<int>{4, 1, 1}));
}

class BadList : public testing::TestWithParam<std::string> {};

TEST_P(BadList, IsRefusedWithNameAndText) {
  const std::string text =
      error_text(ErrorCode::config, [] { parse_tasks_per_node(GetParam(), "SLURM_X"); });

  EXPECT_NE(text.find("SLURM_X is \"" + GetParam() + "\""), std::string::npos) << text;
}

INSTANTIATE_TEST_SUITE_P(Texts, BadList,
                         testing::Values("", ",", "2,", "0", "-1", "a", "2(x)", "2(x0)", "2(x2",
                                         "2(2)", "2 ", "2(x99999999)", "1(x1000000),1",
                                         "99999999999"));

TEST(SlurmNumbers, AreFineWhenAbsentOrConsistent) {
  for (const Variables& variables :
       {Variables{}, Variables{{"SLURM_NTASKS", "5"}, {"SLURM_TASKS_PER_NODE", "2(x2),1"}},
        Variables{{"SLURM_NTASKS", "4"}, {"SLURM_NNODES", "2"}, {"SLURM_NTASKS_PER_NODE", "2"}},
        // Unequal nodes: the list is what counts, the limit per node is only a limit.
        Variables{{"SLURM_NTASKS", "3"},
                  {"SLURM_NNODES", "2"},
                  {"SLURM_NTASKS_PER_NODE", "2"},
                  {"SLURM_TASKS_PER_NODE", "2,1"}},
        // In a step its own numbers count, not the job's.
        Variables{{"SLURM_STEP_NUM_TASKS", "6"},
                  {"SLURM_STEP_TASKS_PER_NODE", "4,1(x2)"},
                  {"SLURM_NTASKS", "99"},
                  {"SLURM_TASKS_PER_NODE", "1"}}}) {
    EXPECT_NO_THROW(check_slurm_numbers(Environment(variables)));
  }
}

TEST(SlurmNumbers, NameBothSidesOfAContradiction) {
  const Variables product = {
      {"SLURM_NTASKS", "3"}, {"SLURM_NNODES", "2"}, {"SLURM_NTASKS_PER_NODE", "2"}};
  const Variables list = {{"SLURM_STEP_NUM_TASKS", "4"}, {"SLURM_STEP_TASKS_PER_NODE", "2(x2),1"}};

  const std::string first =
      error_text(ErrorCode::config, [&] { check_slurm_numbers(Environment(product)); });
  const std::string second =
      error_text(ErrorCode::config, [&] { check_slurm_numbers(Environment(list)); });

  EXPECT_NE(first.find("SLURM_NTASKS is 3"), std::string::npos) << first;
  EXPECT_NE(first.find("2 x 2"), std::string::npos) << first;
  EXPECT_NE(second.find("SLURM_STEP_NUM_TASKS is 4"), std::string::npos) << second;
  EXPECT_NE(second.find("adds up to 5"), std::string::npos) << second;
}

}  // namespace
}  // namespace muster::runtime
