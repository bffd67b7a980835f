#include "runtime/dataset/loader.hpp"

#include <map>
#include <memory>
#include <numeric>
#include <vector>

#include <gmock/gmock.h>

#include "tests/support/error_text.hpp"

namespace muster::runtime {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::int64_t kSeqLen = 4;
constexpr std::int32_t kPad = 258;

std::shared_ptr<const TrainingSet> counting_set(std::int64_t length) {
  std::vector<std::int32_t> ids(static_cast<std::size_t>(length));
  std::iota(ids.begin(), ids.end(), 0);
  TokenStream stream;
  stream.add(ids, "data", 1);
  return std::make_shared<const TrainingSet>(
      RowCutter(std::make_shared<const TokenStream>(std::move(stream)), kPad), kSeqLen, 3);
}

/// The tokens of every sample of a step, by sample number; padding rows are left out.
using Samples = std::map<std::int64_t, std::vector<std::int32_t>>;

void collect(const Batch& batch, Samples& samples) {
  for (const MicroBatch& micro_batch : batch.micro_batches) {
    for (std::int64_t row = 0; row < micro_batch.rows; ++row) {
      const std::int64_t sample = micro_batch.samples[static_cast<std::size_t>(row)];
      const auto begin = micro_batch.tokens.begin() + row * micro_batch.seq_len;
      if (sample >= 0) samples[sample].assign(begin, begin + micro_batch.seq_len);
    }
  }
}

/// What all ranks of a world read in steps [first, last).
Samples read_steps(int world, std::int64_t micro_rows, std::int64_t first, std::int64_t last) {
  constexpr std::int64_t kGlobalBatch = 6;
  Samples samples;
  for (int rank = 0; rank < world; ++rank) {
    Loader loader(counting_set(101), {.global_batch = kGlobalBatch,
                                      .rows = rows_of_rank(kGlobalBatch, rank, world),
                                      .micro_rows = micro_rows,
                                      .first_step = first});
    for (std::int64_t step = first; step < last; ++step) collect(loader.get(step), samples);
  }
  return samples;
}

TEST(RowsOfRank, CoverTheBatchOnceAndDifferByOneAtMost) {
  for (const std::int64_t batch : {0, 1, 2, 5, 8, 1000003}) {
    for (const int world : {1, 2, 3, 7}) {
      std::int64_t next = 0;
      for (int rank = 0; rank < world; ++rank) {
        const RowRange rows = rows_of_rank(batch, rank, world);
        EXPECT_EQ(rows.begin, next);
        EXPECT_GE(rows.count, batch / world);
        EXPECT_LE(rows.count, batch / world + 1);
        next += rows.count;
      }
      EXPECT_EQ(next, batch);
    }
  }
}

TEST(Loader, GivesTheSameSamplesForEveryWorldAndMicroBatch) {
  const Samples expected = read_steps(1, 6, 0, 8);

  ASSERT_EQ(expected.size(), 48U);
  for (const int world : {1, 2, 3, 4, 7}) {
    for (const std::int64_t micro_rows : {1, 2, 4, 6}) {
      EXPECT_EQ(read_steps(world, micro_rows, 0, 8), expected) << world << " x " << micro_rows;
    }
  }
}

TEST(Loader, ResumesWithTheStreamOfAnUninterruptedRunOnAnotherWorldToo) {
  const Samples whole = read_steps(1, 6, 0, 8);

  for (const int world : {1, 2, 3}) {
    Samples parts = read_steps(2, 3, 0, 3);
    parts.merge(read_steps(world, 2, 3, 8));

    EXPECT_EQ(parts, whole);
  }
}

TEST(Loader, FillsTheLastMicroBatchWithRowsWithoutTargets) {
  Loader loader(counting_set(101), {.global_batch = 5, .rows = {0, 5}, .micro_rows = 2});

  const Batch& batch = loader.get(0);

  ASSERT_EQ(batch.micro_batches.size(), 3U);
  EXPECT_EQ(batch.target_count, 5 * kSeqLen);
  EXPECT_THAT(batch.micro_batches[2].samples, ElementsAre(4, -1));
  EXPECT_THAT(batch.micro_batches[2].targets[kSeqLen], -1);
}

TEST(Loader, GivesARankWithoutRowsOneMicroBatchOfPadding) {
  Loader loader(counting_set(101), {.global_batch = 1, .rows = {1, 0}, .micro_rows = 2});

  const Batch& batch = loader.get(0);

  ASSERT_EQ(batch.micro_batches.size(), 1U);
  EXPECT_EQ(batch.target_count, 0);
  EXPECT_THAT(batch.micro_batches[0].samples, ElementsAre(-1, -1));
}

TEST(Loader, MakesAsManyMicroBatchesAsAskedFor) {
  Loader loader(counting_set(101),
                {.global_batch = 3, .rows = {2, 1}, .micro_rows = 1, .micro_batches = 2});

  const Batch& batch = loader.get(4);

  ASSERT_EQ(batch.micro_batches.size(), 2U);
  EXPECT_EQ(batch.step, 4);
  EXPECT_EQ(batch.target_count, kSeqLen);
  EXPECT_THAT(batch.micro_batches[0].samples, ElementsAre(14));
  EXPECT_THAT(batch.micro_batches[1].samples, ElementsAre(-1));
}

TEST(Loader, GivesAStepTwiceAndJumpsBothWays) {
  Loader loader(counting_set(101),
                {.global_batch = 2, .rows = {0, 2}, .micro_rows = 2, .prefetch = 3});

  for (const std::int64_t step : {0, 0, 1, 2, 5, 4, 100, 0, 1, 1, 7, 8, 3}) {
    const Batch& batch = loader.get(step);

    EXPECT_EQ(batch.step, step);
    EXPECT_THAT(batch.micro_batches[0].samples, ElementsAre(2 * step, 2 * step + 1));
  }
}

TEST(Loader, KeepsABatchUntilTheNextCall) {
  Loader loader(counting_set(1001),
                {.global_batch = 8, .rows = {0, 8}, .micro_rows = 8, .prefetch = 1});
  for (std::int64_t step = 0; step < 200; ++step) {
    const Batch& batch = loader.get(step);
    const std::vector<std::int32_t> tokens = batch.micro_batches[0].tokens;

    Samples samples;
    collect(batch, samples);

    EXPECT_EQ(batch.micro_batches[0].tokens, tokens);
    EXPECT_EQ(samples.begin()->first, 8 * step);
  }
}

TEST(Loader, KeepsItsBuffers) {
  Loader loader(counting_set(1001),
                {.global_batch = 4, .rows = {0, 4}, .micro_rows = 2, .prefetch = 2});
  std::map<const std::int32_t*, int> buffers;

  for (std::int64_t step = 0; step < 30; ++step) {
    for (const MicroBatch& micro_batch : loader.get(step).micro_batches) {
      ++buffers[micro_batch.tokens.data()];
    }
  }

  EXPECT_EQ(buffers.size(), 3U * 2U);
}

TEST(Loader, RefusesRowsOutsideTheBatchAndTooFewMicroBatches) {
  const auto make = [](const LoaderOptions& options) {
    return error_text(ErrorCode::invalid_argument, [&] { Loader(counting_set(101), options); });
  };

  EXPECT_THAT(make({.global_batch = 4, .rows = {2, 3}, .micro_rows = 1}),
              HasSubstr("global batch of 4, got [2, 5)"));
  EXPECT_THAT(make({.global_batch = 4, .rows = {0, 4}, .micro_rows = 0}), HasSubstr("got 0"));
  EXPECT_THAT(make({.global_batch = 4, .rows = {0, 4}, .micro_rows = 2, .micro_batches = 1}),
              HasSubstr("4 rows need 2 micro-batches of 2 rows, more than 1"));
}

}  // namespace
}  // namespace muster::runtime
