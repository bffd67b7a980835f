#include "runtime/bench/inputs.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/bench/dispatch.hpp"
#include "runtime/bench/verify.hpp"

namespace muster::runtime {
namespace {

using kernels::ReduceOp;

constexpr std::int64_t kCount = 257;

template <typename T>
std::vector<T> pattern_of(const InputPattern& pattern, int origin, std::int64_t first = 0) {
  std::vector<T> elements(static_cast<std::size_t>(kCount));
  fill_pattern(pattern, origin, first,
               {reinterpret_cast<std::byte*>(elements.data()), pattern.dtype, 1, kCount});
  return elements;
}

template <typename T>
T combine(ReduceOp op, T a, T b) {
  const double x = to_double(a);
  const double y = to_double(b);
  switch (op) {
    case ReduceOp::prod: return from_double<T>(x * y);
    case ReduceOp::max: return std::max(x, y) == x ? a : b;
    case ReduceOp::min: return std::min(x, y) == x ? a : b;
    default: return from_double<T>(x + y);
  }
}

struct InputCase {
  Dtype dtype;
  ReduceOp op;
  int ranks;
};
class ExactInputs : public testing::TestWithParam<InputCase> {
 protected:
  InputPattern pattern() const {
    return {.dtype = GetParam().dtype, .op = GetParam().op, .ranks = GetParam().ranks, .seed = 5};
  }
};

// Every partial result is rounded to the dtype itself: the hardest that an algorithm may do.
TEST_P(ExactInputs, GiveTheirResultInAnyOrder) {
  visit_dtype(GetParam().dtype, [&]<typename T>(std::type_identity<T>) {
    std::vector<int> order(static_cast<std::size_t>(GetParam().ranks));
    std::iota(order.begin(), order.end(), 0);
    std::mt19937 random(3);
    const std::vector<T> expected = pattern_of<T>(pattern(), kReduced);
    for (int round = 0; round < 4; ++round) {
      std::vector<T> result = pattern_of<T>(pattern(), order.front());
      for (std::size_t i = 1; i < order.size(); ++i) {
        const std::vector<T> next = pattern_of<T>(pattern(), order[i]);
        for (std::size_t e = 0; e < result.size(); ++e) {
          result[e] = combine(GetParam().op, result[e], next[e]);
        }
      }
      EXPECT_EQ(std::memcmp(result.data(), expected.data(), result.size() * sizeof(T)), 0);
      std::shuffle(order.begin(), order.end(), random);
    }
  });
}

// A rank whose contribution is lost, or another's taken for it, must show.
TEST_P(ExactInputs, ShowWhenARankIsLeftOut) {
  visit_dtype(GetParam().dtype, [&]<typename T>(std::type_identity<T>) {
    const std::vector<T> expected = pattern_of<T>(pattern(), kReduced);
    std::vector<T> result = pattern_of<T>(pattern(), 0);
    for (int rank = 1; rank + 1 < GetParam().ranks; ++rank) {
      const std::vector<T> next = pattern_of<T>(pattern(), rank);
      for (std::size_t e = 0; e < result.size(); ++e) {
        result[e] = combine(GetParam().op, result[e], next[e]);
      }
    }
    EXPECT_NE(std::memcmp(result.data(), expected.data(), result.size() * sizeof(T)), 0);
  });
}

std::vector<InputCase> input_cases() {
  std::vector<InputCase> cases;
  for (const Dtype dtype : {Dtype::f64, Dtype::f32, Dtype::f16, Dtype::bf16, Dtype::i64, Dtype::i32,
                            Dtype::i8, Dtype::u8}) {
    for (const ReduceOp op : {ReduceOp::sum, ReduceOp::prod, ReduceOp::max, ReduceOp::min}) {
      for (const int ranks : {2, 3, 8, 61}) cases.push_back({dtype, op, ranks});
    }
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(All, ExactInputs, testing::ValuesIn(input_cases()), [](const auto& test) {
  return std::string(to_string(test.param.dtype)) + "_op" +
         std::to_string(static_cast<int>(test.param.op)) + "_" + std::to_string(test.param.ranks);
});

TEST(ExactInputsOfOneRank, AreTheResult) {
  for (const ReduceOp op : {ReduceOp::sum, ReduceOp::avg, ReduceOp::prod, ReduceOp::max}) {
    const InputPattern pattern{.dtype = Dtype::f32, .op = op, .ranks = 1, .seed = 1};
    EXPECT_EQ(pattern_of<float>(pattern, 0), pattern_of<float>(pattern, kReduced));
  }
}

TEST(MovedInputs, DifferByRankIndexAndSeed) {
  const InputPattern pattern{.dtype = Dtype::i64, .ranks = 2, .seed = 1};
  InputPattern other = pattern;
  other.seed = 2;

  EXPECT_NE(pattern_of<std::int64_t>(pattern, 0), pattern_of<std::int64_t>(pattern, 1));
  EXPECT_NE(pattern_of<std::int64_t>(pattern, 0), pattern_of<std::int64_t>(other, 0));
  EXPECT_EQ(pattern_of<std::int64_t>(pattern, 0)[7], pattern_of<std::int64_t>(pattern, 0, 7)[0]);
}

TEST(Averages, AreTheSumOverTheRanks) {
  const InputPattern sum{.dtype = Dtype::i32, .op = ReduceOp::sum, .ranks = 3, .seed = 1};
  InputPattern average = sum;
  average.op = ReduceOp::avg;
  const std::vector<std::int32_t> sums = pattern_of<std::int32_t>(sum, kReduced);
  const std::vector<std::int32_t> averages = pattern_of<std::int32_t>(average, kReduced);

  EXPECT_EQ(pattern_of<std::int32_t>(sum, 2), pattern_of<std::int32_t>(average, 2));
  for (std::size_t i = 0; i < sums.size(); ++i) EXPECT_EQ(averages[i], sums[i] / 3);
}

class Verify : public testing::Test {
 protected:
  std::vector<float> right() const { return pattern_of<float>(pattern_, kReduced); }
  WrongElements wrong(const std::vector<float>& out) const {
    const std::vector<Segment> segments = {{.count = kCount}};
    return find_wrong(pattern_, segments, vector_view(out.data(), kCount));
  }

  InputPattern pattern_{.dtype = Dtype::f32, .op = ReduceOp::sum, .ranks = 4, .seed = 9};
};

TEST_F(Verify, FindsNothingWrongInTheResult) {
  EXPECT_EQ(wrong(right()).count, 0);
}

TEST_F(Verify, FindsOnePlantedElementByIndexAndValue) {
  std::vector<float> out = right();
  const float planted = out[41] + 1.0F;
  const float expected = out[41];
  out[41] = planted;

  const WrongElements found = wrong(out);

  EXPECT_EQ(found.count, 1);
  EXPECT_EQ(found.first_index, 41);
  EXPECT_EQ(found.found, planted);
  EXPECT_EQ(found.expected, expected);
  EXPECT_EQ(found.text().find("1 wrong element, the first [41]"), 0);
}

TEST_F(Verify, SeesOneBit) {
  std::vector<float> out = right();
  out[0] = std::nextafter(out[0], 1e9F);

  EXPECT_EQ(wrong(out).count, 1);
}

TEST_F(Verify, LooksAtItsSegmentsOnly) {
  std::vector<float> out = right();
  out[100] += 1.0F;
  const std::vector<Segment> segments = {{.count = 100},
                                         {.begin = 101, .count = 100, .first = 101}};

  EXPECT_EQ(find_wrong(pattern_, segments, vector_view(out.data(), kCount)).count, 0);
}

TEST_F(Verify, TakesTwoUnitsInTheLastPlaceOfAnAverageAndNotMore) {
  pattern_.op = ReduceOp::avg;
  std::vector<float> out = right();
  out[3] = std::nextafter(std::nextafter(out[3], 1e9F), 1e9F);
  EXPECT_EQ(wrong(out).count, 0);

  out[3] = std::nextafter(std::nextafter(out[3], 1e9F), 1e9F);
  EXPECT_EQ(wrong(out).count, 1);
}

TEST(VerifyBytes, ReadsAnOutputAtAnyAlignment) {
  const InputPattern pattern{.dtype = Dtype::i64, .ranks = 2, .seed = 1};
  const std::vector<std::int64_t> right = pattern_of<std::int64_t>(pattern, 1);
  std::vector<std::byte> shifted(right.size() * 8 + 1);
  std::memcpy(shifted.data() + 1, right.data(), right.size() * 8);
  const std::vector<Segment> segments = {{.count = kCount, .origin = 1}};

  EXPECT_EQ(find_wrong(pattern, segments, {shifted.data() + 1, Dtype::i64, 1, kCount}).count, 0);
}

}  // namespace
}  // namespace muster::runtime
