#include "runtime/optim/schedule.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>

namespace muster::runtime {
namespace {

using testing::DoubleNear;
using testing::Pointwise;

constexpr double kPrinted = 5e-5;  // the reference values are printed with four decimals

std::vector<double> factors(const LrSchedulerSection& schedule, std::int64_t steps) {
  std::vector<double> all;
  for (std::int64_t step = 0; step < steps; ++step) {
    all.push_back(schedule_factor(schedule, step, steps));
  }
  return all;
}

struct Golden {
  const char* name;
  LrSchedulerSection schedule;
  std::vector<double> expected;
};

class GoldenSchedule : public testing::TestWithParam<Golden> {};

TEST_P(GoldenSchedule, HasTheReferencesFactors) {
  EXPECT_THAT(factors(GetParam().schedule, 10),
              Pointwise(DoubleNear(kPrinted), GetParam().expected));
}

// Two warm-up steps, ten steps: transformers' cosine; llm.c's cosine and wsd; torchtitan's linear.
const Golden kGoldens[] = {
    {"CosineZero",
     {.type = "cosine", .warmup_steps = 2, .first_step = "zero"},
     {0, .5, 1, .9619, .8536, .6913, .5, .3087, .1464, .0381}},
    {"CosineOne",
     {.type = "cosine", .warmup_steps = 2},
     {.5, 1, 1, .9619, .8536, .6913, .5, .3087, .1464, .0381}},
    {"WsdSqrt",
     {.type = "wsd", .warmup_steps = 2, .decay_ratio = 0.2},
     {.5, 1, 1, 1, 1, 1, 1, 1, 1, .2929}},
    {"LinearRatio",
     {.type = "linear", .warmup_steps = 2, .decay_ratio = 0.8},
     {.5, 1, 1, .875, .75, .625, .5, .375, .25, .125}},
    {"LinearWhole",
     {.type = "linear", .warmup_steps = 2},
     {.5, 1, 1, .875, .75, .625, .5, .375, .25, .125}},
    {"Constant", {.type = "constant", .warmup_steps = 2}, {.5, 1, 1, 1, 1, 1, 1, 1, 1, 1}},
    {"ConstantZero",
     {.type = "constant", .warmup_steps = 2, .first_step = "zero"},
     {0, .5, 1, 1, 1, 1, 1, 1, 1, 1}},
    {"WsdLinear",
     {.type = "wsd", .decay_ratio = 0.5, .decay_type = "linear"},
     {1, 1, 1, 1, 1, 1, .8, .6, .4, .2}},
    {"WsdCosine",
     {.type = "wsd", .decay_ratio = 0.4, .decay_type = "cosine"},
     {1, 1, 1, 1, 1, 1, 1, .8536, .5, .1464}},
    {"WsdDefaultRatio", {.type = "wsd"}, {1, 1, 1, 1, 1, 1, 1, 1, 1, .2929}},
    {"CosineWithFloor",
     {.type = "cosine", .warmup_steps = 2, .min_lr_factor = 0.1},
     {.5, 1, 1, .9657, .8682, .7222, .55, .3778, .2318, .1343}},
    {"WarmupOnly", {.type = "cosine", .warmup_steps = 10}, {.1, .2, .3, .4, .5, .6, .7, .8, .9, 1}},
};

INSTANTIATE_TEST_SUITE_P(All, GoldenSchedule, testing::ValuesIn(kGoldens),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(Schedule, StaysAtItsFloorBehindTheEnd) {
  const LrSchedulerSection schedule{.type = "cosine", .min_lr_factor = 0.1};

  EXPECT_DOUBLE_EQ(schedule_factor(schedule, 10, 10), 0.1);
  EXPECT_DOUBLE_EQ(schedule_factor(schedule, 1000, 10), 0.1);
}

TEST(Schedule, KeepsAConstantRateBehindTheEnd) {
  EXPECT_EQ(schedule_factor({.type = "constant"}, 1000, 10), 1.0);
}

TEST(Schedule, IsWholeForASingleStep) {
  for (const char* type : {"cosine", "linear", "constant", "wsd"}) {
    EXPECT_EQ(schedule_factor({.type = type}, 0, 1), 1.0) << type;
  }
}

}  // namespace
}  // namespace muster::runtime
