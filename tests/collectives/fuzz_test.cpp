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

#ifdef __SANITIZE_ADDRESS__
constexpr int kRounds = 40;  // each takes five times as long
#else
constexpr int kRounds = 200;
#endif
constexpr std::int64_t kMaxCount = 200000;

class Fuzz : public testing::TestWithParam<BackendUnderTest> {
 protected:
  int most_ranks() const { return std::min(GetParam().most_ranks, 4); }
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
  converted.reserve(values.size());
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
  CallKind kind;
  std::int64_t count;  // of a share, or of the whole where there are no shares
  int root;
  bool is_in_place;
  bool in_symmetric;
  bool out_symmetric;
  std::size_t shift;  // elements off the start of the buffer
};

constexpr std::array kKinds = {CallKind::all_reduce, CallKind::reduce_scatter,
                               CallKind::all_gather, CallKind::broadcast,
                               CallKind::reduce,     CallKind::send_receive};

Round choose(std::uint32_t round, int rank, int ranks) {
  std::mt19937 common(round);
  std::mt19937 own(round * 64 + static_cast<std::uint32_t>(rank) + 1);
  const auto magnitude = static_cast<unsigned>(common() % 19);
  const std::int64_t largest = std::min<std::int64_t>(std::int64_t{1} << magnitude, kMaxCount);
  const std::int64_t count = 1 + static_cast<std::int64_t>(common()) % largest;
  const bool is_mixed = common() % 4 == 0;
  const bool all_symmetric = common() % 2 == 0;
  return {.kind = kKinds[common() % kKinds.size()],
          .count = count,
          .root = static_cast<int>(common() % static_cast<unsigned>(ranks)),
          .is_in_place = common() % 2 == 0,
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
class Player {
 public:
  explicit Player(Communicator& group)
      : group_(group), ins_(group, capacity()), outs_(group, capacity()) {}

  // Makes the call of a round; true if every bit of its result is right.
  bool play(std::uint32_t round) {
    const Round choice = choose(round, group_.rank(), group_.size());
    const std::int64_t share = choice.count;
    const std::int64_t whole = share * group_.size();
    const std::uint32_t seed = round * 16;
    T* const in = ins_.at(choice.in_symmetric, choice.shift);
    T* const other = outs_.at(choice.out_symmetric, choice.shift);
    switch (choice.kind) {
      case CallKind::all_reduce: {
        T* const out = choice.is_in_place ? in : other;
        fill(in, seed, group_.rank(), share);
        group_.all_reduce(vector_view(in, share), vector_view(out, share), ReduceOp::sum).wait();
        return is_equal(out, sum_in_rank_order<T>(group_.size(), seed, share), 0, share);
      }
      case CallKind::reduce_scatter: {
        const std::int64_t begin = share * group_.rank();
        T* const out = choice.is_in_place ? in + begin : other;
        fill(in, seed, group_.rank(), whole);
        group_.reduce_scatter(vector_view(in, whole), vector_view(out, share), ReduceOp::sum)
            .wait();
        return is_equal(out, sum_in_rank_order<T>(group_.size(), seed, whole), begin, share);
      }
      case CallKind::all_gather: return gather(choice, in, other, seed);
      case CallKind::reduce: return reduce(choice, in, choice.is_in_place ? in : other, seed);
      case CallKind::send_receive: return shift(choice, in, other, seed);
      default: return broadcast(choice, in, seed);
    }
  }

 private:
  bool gather(const Round& choice, T* in, T* out, std::uint32_t seed) {
    const std::int64_t share = choice.count;
    if (choice.is_in_place) in = out + share * group_.rank();
    fill(in, seed, group_.rank(), share);
    group_.all_gather(vector_view(in, share), vector_view(out, share * group_.size())).wait();
    for (int rank = 0; rank < group_.size(); ++rank) {
      if (!is_equal(out + share * rank, input(seed, rank, share), 0, share)) return false;
    }
    return true;
  }

  bool reduce(const Round& choice, T* in, T* out, std::uint32_t seed) {
    const std::int64_t count = choice.count;
    fill(in, seed, group_.rank(), count);
    group_.reduce(vector_view(in, count), vector_view(out, count), ReduceOp::sum, choice.root)
        .wait();
    if (group_.rank() != choice.root)
      return is_equal(in, input(seed, group_.rank(), count), 0, count);
    return is_equal(out, sum_in_rank_order<T>(group_.size(), seed, count), 0, count);
  }

  // Around the ring by `root` places.
  bool shift(const Round& choice, T* data, T* received, std::uint32_t seed) {
    const std::int64_t count = choice.count;
    const int ranks = group_.size();
    const int from = (group_.rank() + ranks - choice.root) % ranks;
    fill(data, seed, group_.rank(), count);
    group_
        .send_receive(vector_view(data, count), (group_.rank() + choice.root) % ranks,
                      vector_view(received, count), from)
        .wait();
    return is_equal(received, input(seed, from, count), 0, count);
  }

  bool broadcast(const Round& choice, T* data, std::uint32_t seed) {
    fill(data, seed, group_.rank(), choice.count);
    group_.broadcast(vector_view(data, choice.count), choice.root).wait();
    return is_equal(data, input(seed, choice.root, choice.count), 0, choice.count);
  }

  static std::vector<T> input(std::uint32_t seed, int rank, std::int64_t count) {
    return as<T>(numbers(seed + static_cast<std::uint32_t>(rank), count));
  }
  static void fill(T* data, std::uint32_t seed, int rank, std::int64_t count) {
    const std::vector<T> values = input(seed, rank, count);
    std::memcpy(static_cast<void*>(data), values.data(), values.size() * sizeof(T));
  }
  // data[0, count) against expected[begin, begin + count).
  static bool is_equal(const T* data, const std::vector<T>& expected, std::int64_t begin,
                       std::int64_t count) {
    return std::memcmp(data, expected.data() + begin,
                       static_cast<std::size_t>(count) * sizeof(T)) == 0;
  }
  std::size_t capacity() const { return kMaxCount * static_cast<std::size_t>(group_.size()) + 8; }

  Communicator& group_;
  Buffer<T> ins_;
  Buffer<T> outs_;
};

template <typename T>
void play_rounds(Communicator& group) {
  Player<T> player(group);
  for (std::uint32_t round = 0; round < kRounds; ++round) {
    ASSERT_TRUE(player.play(round)) << "round " << round << ", rank " << group.rank();
  }
}

TEST_P(Fuzz, SumsOfF32HaveTheBitsOfRankOrder) {
  RankThreads{.backend = GetParam(), .ranks = most_ranks()}.run(play_rounds<float>);
}

TEST_P(Fuzz, SumsOfBf16AreRoundedOnce) {
  RankThreads{.backend = GetParam(), .ranks = most_ranks()}.run(play_rounds<Bfloat16>);
}

TEST_P(Fuzz, SumsOfF16AreRoundedOnce) {
  RankThreads{.backend = GetParam(), .ranks = std::min(most_ranks(), 3)}.run(play_rounds<Half>);
}

std::vector<BackendUnderTest> backends_in_rank_order() {
  std::vector<BackendUnderTest> backends = all_backends();
  std::erase_if(backends, [](const auto& backend) { return !backend.keeps_rank_order; });
  return backends;
}

INSTANTIATE_TEST_SUITE_P(Backends, Fuzz, testing::ValuesIn(backends_in_rank_order()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace muster::collectives
