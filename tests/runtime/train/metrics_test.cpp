#include "runtime/train/metrics.hpp"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace muster::runtime {
namespace {

class MetricsFileTest : public testing::Test {
 public:
  MetricsFileTest()
      : folder_(std::filesystem::temp_directory_path() /
                ("metrics_test." + std::to_string(getpid()))) {
    std::filesystem::create_directories(folder_);
  }
  ~MetricsFileTest() override { std::filesystem::remove_all(folder_); }

 protected:
  std::string path() const { return (folder_ / "metrics.jsonl").string(); }

  std::vector<nlohmann::json> lines() const {
    std::vector<nlohmann::json> objects;
    std::ifstream in(path());
    for (std::string line; std::getline(in, line);) objects.push_back(nlohmann::json::parse(line));
    return objects;
  }

 private:
  std::filesystem::path folder_;
};

TEST_F(MetricsFileTest, WritesOneObjectPerStep) {
  MetricsFile file(path(), 0);
  file.write_step({.step = 1, .loss = 2.5, .lr = 1e-3, .grad_norm = 0.25, .heap_allocations = 7});
  file.write_validation(1, 2.75, 1000);

  const auto objects = lines();

  ASSERT_EQ(objects.size(), 2U);
  EXPECT_EQ(objects[0]["step"], 1);
  EXPECT_EQ(objects[0]["loss"], 2.5);
  EXPECT_EQ(objects[0]["lr"], 1e-3);
  EXPECT_EQ(objects[0]["grad_norm"], 0.25);
  EXPECT_EQ(objects[0]["heap_allocations"], 7);
  EXPECT_EQ(objects[1]["val_loss"], 2.75);
  EXPECT_EQ(objects[1]["val_tokens"], 1000);
}

TEST_F(MetricsFileTest, WritesWhatIsNotFiniteAsNull) {
  MetricsFile file(path(), 0);
  file.write_step(
      {.step = 1, .loss = std::nan(""), .grad_norm = std::numeric_limits<double>::infinity()});

  EXPECT_TRUE(lines()[0]["loss"].is_null());
  EXPECT_TRUE(lines()[0]["grad_norm"].is_null());
}

TEST_F(MetricsFileTest, FitsTheLongestNumbers) {
  const double longest = -std::numeric_limits<double>::max();
  MetricsFile file(path(), 0);
  file.write_step({.step = std::numeric_limits<std::int64_t>::min(),
                   .loss = longest,
                   .lr = longest,
                   .tokens_per_s = longest,
                   .grad_norm = longest,
                   .step_seconds = longest,
                   .target_tokens = std::numeric_limits<std::int64_t>::min(),
                   .loss_scale = longest,
                   .is_skipped = false,
                   .memory_bytes = std::numeric_limits<std::int64_t>::min(),
                   .heap_allocations = std::numeric_limits<std::int64_t>::max()});

  EXPECT_EQ(lines()[0]["heap_allocations"], std::numeric_limits<std::int64_t>::max());
}

TEST_F(MetricsFileTest, DropsStepsThatAreDoneAgainAndAHalfLine) {
  {
    MetricsFile file(path(), 0);
    for (int step = 1; step <= 5; ++step) file.write_step({.step = step});
  }
  std::ofstream(path(), std::ios::app) << R"({"step":6,"lo)";

  MetricsFile resumed(path(), 3);
  resumed.write_step({.step = 4, .loss = 1.0});

  const auto objects = lines();
  ASSERT_EQ(objects.size(), 4U);
  EXPECT_EQ(objects[2]["step"], 3);
  EXPECT_EQ(objects[3]["loss"], 1.0);
}

}  // namespace
}  // namespace muster::runtime
