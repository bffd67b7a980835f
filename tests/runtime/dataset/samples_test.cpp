#include "runtime/dataset/samples.hpp"

#include <algorithm>
#include <memory>
#include <numeric>
#include <set>
#include <vector>

#include <gmock/gmock.h>

namespace muster::runtime {
namespace {

using testing::Each;
using testing::ElementsAre;

constexpr std::int32_t kEos = 257;
constexpr std::int32_t kPad = 258;

std::shared_ptr<const TokenStream> stream_of(
    const std::vector<std::vector<std::int32_t>>& documents) {
  TokenStream stream;
  for (const auto& ids : documents) stream.add(ids, "data", 1);
  return std::make_shared<const TokenStream>(std::move(stream));
}

/// One document of `length` tokens 0, 1, 2, … so that a token tells its position.
std::shared_ptr<const TokenStream> counting_stream(std::int64_t length) {
  std::vector<std::int32_t> ids(static_cast<std::size_t>(length));
  std::iota(ids.begin(), ids.end(), 0);
  return stream_of({ids});
}

TEST(RowCutter, MasksAndBoundsAtTheEndOfADocument) {
  const RowCutter cutter(stream_of({{10, 11, kEos}, {20, 21, 22, kEos}}), kPad);
  MicroBatch batch(1, 4);

  const std::int64_t targets = cutter.cut(1, 0, batch);

  EXPECT_EQ(targets, 3);
  EXPECT_THAT(batch.tokens, ElementsAre(11, kEos, 20, 21));
  EXPECT_THAT(batch.targets, ElementsAre(kEos, -1, 21, 22));
  EXPECT_THAT(batch.positions, ElementsAre(0, 1, 0, 1));
  EXPECT_THAT(batch.bounds, ElementsAre(0, 0, 2, 2));
}

TEST(RowCutter, CountsBoundsInsideTheMicroBatchAndPositionsInsideTheRow) {
  const RowCutter cutter(stream_of({{10, 11, kEos}, {20, 21, 22, kEos}}), kPad);
  MicroBatch batch(2, 3);

  cutter.cut(0, 0, batch);
  cutter.cut(2, 1, batch);

  EXPECT_THAT(batch.tokens, ElementsAre(10, 11, kEos, kEos, 20, 21));
  EXPECT_THAT(batch.targets, ElementsAre(11, kEos, -1, -1, 21, 22));
  EXPECT_THAT(batch.positions, ElementsAre(0, 1, 2, 0, 0, 1));
  EXPECT_THAT(batch.bounds, ElementsAre(0, 0, 0, 3, 4, 4));
}

TEST(RowCutter, MasksByPositionAndNotById) {
  const RowCutter cutter(stream_of({{kEos, 7, kEos, 8}}), kPad);
  MicroBatch batch(1, 4);

  EXPECT_EQ(cutter.cut(0, 0, batch), 3);
  EXPECT_THAT(batch.targets, ElementsAre(7, kEos, 8, -1));
}

TEST(RowCutter, PadsBehindTheEndWithADocumentOfItsOwn) {
  const RowCutter cutter(stream_of({{10, kEos}}), kPad);
  MicroBatch batch(1, 5);

  EXPECT_EQ(cutter.cut(0, 0, batch), 1);
  EXPECT_THAT(batch.tokens, ElementsAre(10, kEos, kPad, kPad, kPad));
  EXPECT_THAT(batch.targets, ElementsAre(kEos, -1, -1, -1, -1));
  EXPECT_THAT(batch.positions, ElementsAre(0, 1, 0, 1, 2));
  EXPECT_THAT(batch.bounds, ElementsAre(0, 0, 2, 2, 2));
}

TEST(RowCutter, OverwritesWhatAnEarlierRowLeft) {
  const RowCutter cutter(stream_of({{10, 11, 12, kEos}}), kPad);
  MicroBatch batch(1, 3);
  cutter.cut(0, 0, batch);

  EXPECT_EQ(cutter.cut(4, 0, batch), 0);
  EXPECT_THAT(batch.tokens, Each(kPad));
  EXPECT_THAT(batch.targets, Each(-1));
  EXPECT_THAT(batch.bounds, Each(0));
}

struct Shape {
  std::int64_t length;
  std::int64_t seq_len;
  std::int64_t samples;
};

class TrainingShape : public testing::TestWithParam<Shape> {};

TEST_P(TrainingShape, HasThatManySamplesThatLieInTheTextAndDoNotOverlap) {
  const auto [length, seq_len, samples] = GetParam();
  const TrainingSet set(RowCutter(counting_stream(length), kPad), seq_len, 5);

  ASSERT_EQ(set.samples_per_epoch(), samples);
  for (std::int64_t epoch = 0; epoch < 20; ++epoch) {
    std::vector<std::int64_t> begins;
    for (std::int64_t i = 0; i < samples; ++i) begins.push_back(set.begin_of(epoch * samples + i));
    std::ranges::sort(begins);

    EXPECT_GE(begins.front(), 0);
    EXPECT_LT(begins.front(), seq_len);
    if (length > seq_len) {  // the last target lies in the text
      EXPECT_LE(begins.back() + seq_len, length - 1);
    }
    for (std::size_t i = 1; i < begins.size(); ++i) {
      EXPECT_EQ(begins[i], begins[i - 1] + seq_len);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Awkward, TrainingShape,
                         testing::Values(Shape{1, 4, 1}, Shape{3, 4, 1}, Shape{4, 4, 1},
                                         Shape{5, 4, 1}, Shape{7, 4, 1}, Shape{8, 4, 1},
                                         Shape{11, 4, 1}, Shape{12, 4, 2}, Shape{13, 4, 2},
                                         Shape{100, 7, 13}, Shape{9, 1, 8}, Shape{2, 1, 1}));

TEST(TrainingSet, ShufflesEveryEpochInItsOwnWay) {
  const TrainingSet set(RowCutter(counting_stream(1000), kPad), 4, 5);
  const std::int64_t n = set.samples_per_epoch();
  const auto order = [&](std::int64_t epoch) {
    std::vector<std::int64_t> rows;
    for (std::int64_t i = 0; i < n; ++i) rows.push_back(set.begin_of(epoch * n + i) / 4);
    return rows;
  };

  EXPECT_FALSE(std::ranges::is_sorted(order(0)));
  EXPECT_NE(order(0), order(1));
}

TEST(TrainingSet, MovesTheEdgesOfRowsBetweenEpochs) {
  const TrainingSet set(RowCutter(counting_stream(1000), kPad), 8, 5);
  std::set<std::int64_t> offsets;

  for (std::int64_t epoch = 0; epoch < 100; ++epoch) {
    offsets.insert(set.begin_of(epoch * set.samples_per_epoch()) % 8);
  }

  EXPECT_EQ(offsets.size(), 8U);
}

TEST(TrainingSet, DependsOnTheSeedAndOnNothingElse) {
  const RowCutter cutter(counting_stream(1000), kPad);
  const TrainingSet one(cutter, 4, 5);
  const TrainingSet same(cutter, 4, 5);
  const TrainingSet other(cutter, 4, 6);
  std::vector<std::int64_t> a;
  std::vector<std::int64_t> b;
  std::vector<std::int64_t> c;

  for (std::int64_t g = 0; g < 600; ++g) {
    a.push_back(one.begin_of(g));
    b.push_back(same.begin_of(g));
    c.push_back(other.begin_of(g));
  }

  EXPECT_EQ(a, b);
  EXPECT_NE(a, c);
}

TEST(TrainingSet, GoesOnWithTheNextEpochWhenOneIsShorterThanABatch) {
  const TrainingSet set(RowCutter(counting_stream(13), kPad), 4, 5);
  MicroBatch batch(5, 4);

  for (std::int64_t row = 0; row < 5; ++row) EXPECT_EQ(set.read(row, row, batch), 4);

  EXPECT_THAT(batch.samples, ElementsAre(0, 1, 2, 3, 4));
}

TEST(TrainingSet, PadsTheOnlySampleOfAShortText) {
  const TrainingSet set(RowCutter(counting_stream(3), kPad), 5, 5);
  MicroBatch batch(1, 5);

  EXPECT_EQ(set.read(7, 0, batch), 2);
  EXPECT_THAT(batch.tokens, ElementsAre(0, 1, 2, kPad, kPad));
  EXPECT_THAT(batch.targets, ElementsAre(1, 2, -1, -1, -1));
}

class ValidationShape : public testing::TestWithParam<Shape> {};

TEST_P(ValidationShape, MakesEveryTokenButTheFirstATargetOnceInOrder) {
  const auto [length, seq_len, samples] = GetParam();
  const ValidationSet set(RowCutter(counting_stream(length), kPad), seq_len);
  std::vector<std::int32_t> seen;
  std::int64_t count = 0;

  ASSERT_EQ(set.samples(), samples);
  MicroBatch batch(3, seq_len);
  for (std::int64_t first = 0; first < samples; first += 3) {
    count += set.read(first, batch);
    std::ranges::copy_if(batch.targets, std::back_inserter(seen), [](auto id) { return id >= 0; });
  }

  std::vector<std::int32_t> expected(static_cast<std::size_t>(length - 1));
  std::iota(expected.begin(), expected.end(), 1);
  EXPECT_EQ(seen, expected);
  EXPECT_EQ(count, length - 1);
}

INSTANTIATE_TEST_SUITE_P(Awkward, ValidationShape,
                         testing::Values(Shape{1, 4, 1}, Shape{2, 4, 1}, Shape{4, 4, 1},
                                         Shape{5, 4, 1}, Shape{6, 4, 2}, Shape{40, 4, 10},
                                         Shape{41, 4, 10}, Shape{9, 1, 8}));

TEST(ValidationSet, FillsTheBatchBehindTheLastSampleWithPadding) {
  const ValidationSet set(RowCutter(counting_stream(6), kPad), 4);
  MicroBatch batch(3, 4);

  EXPECT_EQ(set.read(0, batch), 5);
  EXPECT_THAT(batch.samples, ElementsAre(0, 1, -1));
  EXPECT_THAT(batch.tokens, ElementsAre(0, 1, 2, 3, 4, 5, kPad, kPad, kPad, kPad, kPad, kPad));
}

}  // namespace
}  // namespace muster::runtime
