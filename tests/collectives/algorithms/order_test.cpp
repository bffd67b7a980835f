#include <cmath>
#include <cstddef>
#include <mutex>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "kernels/base/half.hpp"
#include "kernels/ops/reduce.hpp"
#include "tests/collectives/algorithms/lane_threads.hpp"

/// Sums of numbers that do not add up exactly, where the order shows.
namespace muster::collectives::algorithms {
namespace {

constexpr std::int64_t kShare = 331;

using Case = std::tuple<std::size_t, int, Dtype>;

class Order : public testing::TestWithParam<Case> {
 protected:
  const Algorithm& algorithm() const { return all_algorithms()[std::get<0>(GetParam())]; }
  int ranks() const { return std::get<1>(GetParam()); }
  Dtype dtype() const { return std::get<2>(GetParam()); }
  std::int64_t count() const { return kShare * ranks(); }
  std::size_t bytes() const { return static_cast<std::size_t>(count()) * size_of(dtype()); }

  std::vector<std::byte> input_of(int rank) const {
    std::mt19937 random(static_cast<unsigned>(rank) + 1U);
    std::uniform_real_distribution<float> distribution(-1.0F, 1.0F);
    std::vector<std::byte> data(bytes());
    for (std::size_t at = 0; at < data.size(); at += size_of(dtype())) {
      const float value = distribution(random) * std::exp2(8.0F * distribution(random));
      const Bfloat16 narrow(value);
      if (dtype() == Dtype::bf16) {
        std::memcpy(data.data() + at, &narrow, sizeof(narrow));
      } else {
        std::memcpy(data.data() + at, &value, sizeof(value));
      }
    }
    return data;
  }
  float value_at(const std::byte* data, std::int64_t i) const {
    if (dtype() == Dtype::f32) return reinterpret_cast<const float*>(data)[i];
    return static_cast<float>(reinterpret_cast<const Bfloat16*>(data)[i]);
  }
  TensorView view(std::vector<std::byte>& data) const { return {data.data(), dtype(), 1, count()}; }

  // All contributions in rank order, rounded once.
  std::vector<std::byte> in_rank_order() const {
    std::vector<std::vector<std::byte>> inputs;
    std::vector<ConstTensorView> sources;
    inputs.reserve(static_cast<std::size_t>(ranks()));
    for (int rank = 0; rank < ranks(); ++rank) {
      inputs.push_back(input_of(rank));
      sources.push_back(view(inputs.back()));
    }
    std::vector<std::byte> result(bytes());
    const TensorView out = view(result);
    const auto device = kernels::open_device("cpu", kernels::DeviceOptions());
    kernels::reduce(*device, {.destinations = {&out, 1}, .sources = sources, .op = ReduceOp::avg});
    return result;
  }

  // What the ranks have at the end, every element from one that has it, and checked to be the same
  // where several do.
  std::vector<std::byte> by_algorithm() const {
    const LocalNetwork network("test", ranks());
    std::vector<std::vector<std::byte>> results(static_cast<std::size_t>(ranks()));
    as_each_rank(network, ranks(), 256, [&](RankLane& self) {
      const int rank = self.lane.rank();
      std::vector<std::byte> in = input_of(rank);
      std::vector<std::byte> out(bytes());
      Call call{.kind = algorithm().kind, .in = view(in), .count = count(), .op = ReduceOp::avg};
      call.out = view(out);
      if (call.kind == CallKind::reduce_scatter) call.out = call.out.cols_from(0, kShare);
      if (call.kind == CallKind::reduce && rank != 0) call.out = call.out.cols_from(0, 0);
      self.perform(algorithm(), call);
      results[static_cast<std::size_t>(rank)].assign(call.out.data,
                                                     call.out.data + call.out.bytes());
    });
    if (algorithm().kind == CallKind::all_reduce) {
      for (const auto& result : results) EXPECT_EQ(result, results.front());
      return results.front();
    }
    std::vector<std::byte> all;
    for (const auto& result : results) all.insert(all.end(), result.begin(), result.end());
    return all;
  }
};

TEST_P(Order, IsThatOfRanksOrAtLeastTheSameOnAll) {
  const std::vector<std::byte> expected = in_rank_order();

  const std::vector<std::byte> result = by_algorithm();

  if (algorithm().keeps_rank_order) {
    EXPECT_EQ(result, expected);
    return;
  }
  // Another order costs a few roundings of f32 at the largest partial sum, about 2^8 * ranks; one
  // rounding to bf16 may then fall to the other side: 2^-8 of the value.
  ASSERT_EQ(result.size(), expected.size());
  for (std::int64_t i = 0; i < count(); ++i) {
    const float wanted = value_at(expected.data(), i);
    const float rounding = dtype() == Dtype::bf16 ? std::abs(wanted) / 128.0F : 0.0F;
    ASSERT_NEAR(value_at(result.data(), i), wanted, 1e-3F + rounding) << "element " << i;
  }
}

std::vector<std::size_t> reductions_of_equal_shares() {
  std::vector<std::size_t> numbers;
  for (std::size_t i = 0; i < all_algorithms().size(); ++i) {
    const CallKind kind = all_algorithms()[i].kind;
    if (is_reduction(kind) && kind != CallKind::reduce_scatter_v) numbers.push_back(i);
  }
  return numbers;
}

INSTANTIATE_TEST_SUITE_P(List, Order,
                         testing::Combine(testing::ValuesIn(reductions_of_equal_shares()),
                                          testing::Range(2, 10),
                                          testing::Values(Dtype::f32, Dtype::bf16)),
                         [](const auto& test) {
                           const Algorithm& algorithm = all_algorithms()[std::get<0>(test.param)];
                           return fmt::format("{}_{}_{}_{}", to_string(algorithm.kind),
                                              algorithm.name, std::get<1>(test.param),
                                              to_string(std::get<2>(test.param)));
                         });

}  // namespace
}  // namespace muster::collectives::algorithms
