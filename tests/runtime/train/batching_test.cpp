#include "runtime/train/batching.hpp"

#include <string>

#include <gtest/gtest.h>

#include "kernels/base/error.hpp"

namespace muster::runtime {
namespace {

JobConfig job(std::int64_t global, std::int64_t local, std::int64_t seq_len) {
  JobConfig config;
  config.file = "job.toml";
  config.training.global_batch_size = global;
  config.training.local_batch_size = local;
  config.data.seq_len = seq_len;
  return config;
}

TEST(CutBatch, DealsRowsToRanksAndCutsThemIntoMicroBatches) {
  const Batching batching = cut_batch(job(64, 8, 256), 2);

  EXPECT_EQ(batching.rows_per_rank, 32);
  EXPECT_EQ(batching.micro_batch_rows, 8);
  EXPECT_EQ(batching.micro_batches, 4);
}

TEST(CutBatch, ChoosesAboutTwoThousandTokensWhenNotTold) {
  EXPECT_EQ(cut_batch(job(64, 0, 256), 2).micro_batch_rows, 8);
  EXPECT_EQ(cut_batch(job(14, 0, 256), 2).micro_batch_rows, 7);
  EXPECT_EQ(cut_batch(job(22, 0, 256), 2).micro_batch_rows, 1);  // 11 has no divisor up to 8 but 1
  EXPECT_EQ(cut_batch(job(4, 0, 8192), 2).micro_batch_rows, 1);
}

std::string refusal(const JobConfig& config, int ranks) {
  try {
    cut_batch(config, ranks);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::config);
    return error.what();
  }
  return "accepted";
}

TEST(CutBatch, RefusesABatchThatDoesNotDivideAndNamesOneThatDoes) {
  const std::string text = refusal(job(10, 0, 16), 4);

  EXPECT_NE(text.find("job.toml"), std::string::npos) << text;
  EXPECT_NE(text.find("training.global_batch_size = 10"), std::string::npos) << text;
  EXPECT_NE(text.find("4 ranks"), std::string::npos) << text;
  EXPECT_NE(text.find("8 or 12"), std::string::npos) << text;
}

TEST(CutBatch, RefusesAMicroBatchThatDoesNotDivide) {
  const std::string text = refusal(job(12, 4, 16), 2);

  EXPECT_NE(text.find("training.local_batch_size = 4"), std::string::npos) << text;
  EXPECT_NE(text.find("6 sequences"), std::string::npos) << text;
}

}  // namespace
}  // namespace muster::runtime
