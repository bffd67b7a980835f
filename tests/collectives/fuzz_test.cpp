#include <algorithm>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "collectives/communicator.hpp"
#include "kernels/base/half.hpp"
#include "tests/collectives/rank_threads.hpp"

/// Random calls on random numbers: the result must have the very bits of a sum in rank order that
/// is rounded once, whatever the size and wherever the buffers lie, so that it cannot depend on the
/// way it was computed.
namespace muster::collectives {
namespace {

constexpr int kRounds = 200;
constexpr std::int64_t kMaxCount = 200000;

class Fuzz : public testing::TestWithParam<BackendUnderTest> {
 protected:
  int most_ranks() const { return GetParam().most_ranks; }
};

// A number of a size that varies much with `index`, so that every change of order changes bits.
float number(std::uint32_t seed, std::uint32_t index) {
  std::uint32_t bits = (seed * 0x9E3779B9U + index + 1) * 0x85EBCA6BU;
  bits = (bits ^ (bits >> 15)) * 0xC2B2AE35U;
  bits ^= bits >> 16;
  const float mantissa = 1.0F + static_cast<float>(bits >> 8) / static_cast<float>(1U << 24);
  const float magnitude = mantissa * static_cast<float>(1U << (bits % 13U));
  return (bits & 128U) != 0 ? magnitude : -magnitude;
}

std::vector<float> numbers(std::uint32_t seed, std::int64_t count) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (std::uint32_t i = 0; i < values.size(); ++i) values[i] = number(seed, i);
  return values;
}

template <typename T>
std::vector<T> as(const std::vector<float>& values) {
  std::vector<T> converted;
  for (const float value : values) converted.push_back(T(value));
  return converted;
}

template <typename T>
std::vector<T> sum_in_rank_order(int ranks, std::uint32_t seed, std::int64_t count) {
  std::vector<float> sum;
  for (int rank = 0; rank < ranks; ++rank) {
    const std::vector<T> next = as<T>(numbers(seed + static_cast<std::uint32_t>(rank), count));
    if (rank == 0) {
      for (const T& value : next) sum.push_back(static_cast<float>(value));
      continue;
    }
    for (std::size_t i = 0; i < next.size(); ++i) sum[i] += static_cast<float>(next[i]);
  }
  return as<T>(sum);
}

// The choices of a round: alike on all ranks but where a buffer lies.
struct Round {
  std::int64_t count;
  bool is_in_place;
  bool is_scatter;
  bool in_symmetric;
  bool out_symmetric;
  std::size_t shift;  // elements off the start of the buffer
};

Round choose(std::uint32_t round, int rank) {
  std::mt19937 common(round);
  std::mt19937 own(round * 64 + static_cast<std::uint32_t>(rank) + 1);
  const auto magnitude = static_cast<unsigned>(common() % 19);
  const std::int64_t largest = std::min<std::int64_t>(std::int64_t{1} << magnitude, kMaxCount);
  const std::int64_t count = 1 + static_cast<std::int64_t>(common()) % largest;
  const bool is_mixed = common() % 4 == 0;
  const bool all_symmetric = common() % 2 == 0;
  return {.count = count,
          .is_in_place = common() % 2 == 0,
          .is_scatter = common() % 3 == 0,
          .in_symmetric = is_mixed ? own() % 2 == 0 : all_symmetric,
          .out_symmetric = is_mixed ? own() % 2 == 0 : all_symmetric,
          .shift = own() % 5};
}

// Two places that a view can begin at.
template <typename T>
class Buffer {
 public:
  Buffer(Communicator& group, std::size_t capacity)
      : symmetric_(group.memory().allocate(capacity * sizeof(T), "fuzz")), private_(capacity) {}

  T* at(bool is_symmetric, std::size_t shift) {
    T* const base = is_symmetric ? reinterpret_cast<T*>(symmetric_.data()) : private_.data();
    return base + shift;
  }

 private:
  Memory symmetric_;
  std::vector<T> private_;
};

template <typename T>
TensorView view(T* data, std::int64_t count) {
  return vector_view(data, count);
}

template <typename T>
void run_rounds(Communicator& group) {
  const auto ranks = static_cast<std::size_t>(group.size());
  Buffer<T> ins(group, kMaxCount * ranks + 8);
  Buffer<T> outs(group, kMaxCount * ranks + 8);
  for (std::uint32_t round = 0; round < kRounds; ++round) {
    const Round choice = choose(round, group.rank());
    const std::int64_t total = choice.is_scatter ? choice.count * group.size() : choice.count;
    const std::uint32_t seed = round * 16;
    T* const in = ins.at(choice.in_symmetric, choice.shift);
    T* const out = choice.is_in_place ? in : outs.at(choice.out_symmetric, choice.shift);
    const std::vector<T> mine =
        as<T>(numbers(seed + static_cast<std::uint32_t>(group.rank()), total));
    std::memcpy(static_cast<void*>(in), mine.data(), mine.size() * sizeof(T));

    std::int64_t begin = 0;
    const T* result = out;
    if (choice.is_scatter) {
      begin = choice.count * group.rank();
      T* const share = choice.is_in_place ? in + begin : out;
      group.reduce_scatter(view(in, total), view(share, choice.count), ReduceOp::sum).wait();
      result = share;
    } else {
      group.all_reduce(view(in, total), view(out, total), ReduceOp::sum).wait();
    }

    const std::vector<T> expected = sum_in_rank_order<T>(group.size(), seed, total);
    ASSERT_EQ(std::memcmp(result, expected.data() + begin,
                          static_cast<std::size_t>(choice.count) * sizeof(T)),
              0)
        << "round " << round << ", rank " << group.rank() << ", " << choice.count << " elements";
  }
}

TEST_P(Fuzz, SumsOfF32HaveTheBitsOfRankOrder) {
  RankThreads{.backend = GetParam(), .ranks = most_ranks()}.run(run_rounds<float>);
}

TEST_P(Fuzz, SumsOfBf16AreRoundedOnce) {
  RankThreads{.backend = GetParam(), .ranks = most_ranks()}.run(run_rounds<Bfloat16>);
}

TEST_P(Fuzz, SumsOfF16AreRoundedOnce) {
  RankThreads{.backend = GetParam(), .ranks = std::min(most_ranks(), 3)}.run(run_rounds<Half>);
}

INSTANTIATE_TEST_SUITE_P(Backends, Fuzz, testing::ValuesIn(all_backends()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace muster::collectives
