#include <algorithm>
#include <array>
#include <string>
#include <tuple>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "collectives/communicator.hpp"
#include "tests/collectives/exact_data.hpp"
#include "tests/collectives/rank_threads.hpp"

/// What every back end must do with data, for every size of group, dtype, op, place and awkward
/// count. Inputs are small whole numbers, so every result is exact and the same on all ranks.
namespace muster::collectives {
namespace {

constexpr std::array kDtypes = {Dtype::f64, Dtype::f32, Dtype::f16, Dtype::bf16,
                                Dtype::i64, Dtype::i32, Dtype::i8,  Dtype::u8};
constexpr std::array kOps = {ReduceOp::sum, ReduceOp::avg, ReduceOp::max, ReduceOp::min,
                             ReduceOp::prod};
constexpr std::array<std::int64_t, 10> kSmallCounts = {0, 1, 2, 3, 7, 17, 31, 1023, 4095, 4097};

using Case = std::tuple<BackendUnderTest, int, Place>;

std::string to_string(Place place) {
  switch (place) {
    case Place::symmetric: return "symmetric";
    case Place::private_memory: return "private";
    case Place::unaligned: return "unaligned";
  }
  return "nowhere";
}

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const BackendUnderTest& backend : all_backends()) {
    for (int ranks = 1; ranks <= backend.most_ranks; ++ranks) {
      for (const Place place : {Place::symmetric, Place::private_memory, Place::unaligned}) {
        cases.emplace_back(backend, ranks, place);
      }
    }
  }
  return cases;
}

std::string name_of(const testing::TestParamInfo<Case>& test) {
  const auto& [backend, ranks, place] = test.param;
  return fmt::format("{}_{}_{}", backend.name, ranks, to_string(place));
}

class Conformance : public testing::TestWithParam<Case> {
 protected:
  int ranks() const { return std::get<1>(GetParam()); }
  Place place() const { return std::get<2>(GetParam()); }
  std::int64_t largest_count() const { return std::get<0>(GetParam()).largest_count; }
  std::size_t largest_bytes() const { return static_cast<std::size_t>(largest_count()) * 8; }
  std::vector<std::int64_t> counts() const {
    std::vector<std::int64_t> all(kSmallCounts.begin(), kSmallCounts.end());
    all.push_back(largest_count());
    return all;
  }

  void as_each_rank(const std::function<void(Communicator&)>& body) const {
    RankThreads{.backend = std::get<0>(GetParam()), .ranks = ranks()}.run(body);
  }
};

Pattern inputs(int rank, ReduceOp op, Dtype dtype) {
  return {dtype,
          [=](std::int64_t i) { return static_cast<double>(input_value(rank, i, op, dtype)); }};
}
Pattern results(int ranks, ReduceOp op, Dtype dtype) {
  return {dtype, [=](std::int64_t i) { return reduced_value(ranks, i, op, dtype); }};
}

std::string describe(Communicator& group, Dtype dtype, std::int64_t count) {
  return fmt::format("rank {} of {}, {}[{}]", group.rank(), group.size(), to_string(dtype), count);
}

TEST_P(Conformance, AllReduceGivesEveryRankTheReductionOfAll) {
  as_each_rank([this](Communicator& group) {
    GuardedBuffer in(group, place(), largest_bytes());
    GuardedBuffer out(group, place(), largest_bytes());
    for (const Dtype dtype : kDtypes) {
      for (const ReduceOp op : kOps) {
        const Pattern input = inputs(group.rank(), op, dtype);
        const Pattern expected = results(group.size(), op, dtype);
        for (const std::int64_t count : counts()) {
          const TensorView from = in.view(dtype, count);
          const TensorView to = out.view(dtype, count);
          input.fill(from.data, 0, count);

          group.all_reduce(from, to, op).wait();

          ASSERT_TRUE(expected.is_at(to.data, 0, count)) << describe(group, dtype, count);
          ASSERT_TRUE(input.is_at(from.data, 0, count)) << describe(group, dtype, count);
          ASSERT_TRUE(in.guards_are_intact() && out.guards_are_intact());
        }
      }
    }
  });
}

TEST_P(Conformance, AllReduceWorksInPlace) {
  as_each_rank([this](Communicator& group) {
    GuardedBuffer buffer(group, place(), largest_bytes());
    for (const Dtype dtype : kDtypes) {
      const Pattern input = inputs(group.rank(), ReduceOp::sum, dtype);
      const Pattern expected = results(group.size(), ReduceOp::sum, dtype);
      for (const std::int64_t count : counts()) {
        const TensorView data = buffer.view(dtype, count);
        input.fill(data.data, 0, count);

        group.all_reduce(data, data, ReduceOp::sum).wait();

        ASSERT_TRUE(expected.is_at(data.data, 0, count)) << describe(group, dtype, count);
        ASSERT_TRUE(buffer.guards_are_intact());
      }
    }
  });
}

TEST_P(Conformance, ReduceScatterGivesEveryRankItsShareOfTheReduction) {
  as_each_rank([this](Communicator& group) {
    GuardedBuffer in(group, place(), largest_bytes());
    GuardedBuffer out(group, place(), largest_bytes());
    for (const Dtype dtype : kDtypes) {
      for (const ReduceOp op : kOps) {
        const Pattern input = inputs(group.rank(), op, dtype);
        const Pattern expected = results(group.size(), op, dtype);
        for (const std::int64_t total : counts()) {
          const std::int64_t share = total / group.size();
          const TensorView from = in.view(dtype, share * group.size());
          const TensorView to = out.view(dtype, share);
          input.fill(from.data, 0, from.count());

          group.reduce_scatter(from, to, op).wait();

          ASSERT_TRUE(expected.is_at(to.data, share * group.rank(), share))
              << describe(group, dtype, share);
          ASSERT_TRUE(input.is_at(from.data, 0, from.count())) << describe(group, dtype, share);
          ASSERT_TRUE(in.guards_are_intact() && out.guards_are_intact());
        }
      }
    }
  });
}

TEST_P(Conformance, ReduceScatterMayWriteIntoItsOwnShareOfTheInput) {
  as_each_rank([this](Communicator& group) {
    GuardedBuffer buffer(group, place(), largest_bytes());
    for (const std::int64_t total : counts()) {
      const std::int64_t share = total / group.size();
      const TensorView from = buffer.view(Dtype::f32, share * group.size());
      inputs(group.rank(), ReduceOp::sum, Dtype::f32).fill(from.data, 0, from.count());
      const TensorView to = from.cols_from(share * group.rank(), share);

      group.reduce_scatter(from, to, ReduceOp::sum).wait();

      ASSERT_TRUE(results(group.size(), ReduceOp::sum, Dtype::f32)
                      .is_at(to.data, share * group.rank(), share))
          << describe(group, Dtype::f32, share);
      ASSERT_TRUE(buffer.guards_are_intact());
    }
  });
}

TEST_P(Conformance, AllGatherConcatenatesTheInputsInRankOrder) {
  as_each_rank([this](Communicator& group) {
    GuardedBuffer in(group, place(), largest_bytes());
    GuardedBuffer out(group, place(), largest_bytes());
    for (const Dtype dtype : kDtypes) {
      for (const std::int64_t total : counts()) {
        const std::int64_t share = total / group.size();
        const TensorView from = in.view(dtype, share);
        const TensorView to = out.view(dtype, share * group.size());
        inputs(group.rank(), ReduceOp::sum, dtype).fill(from.data, 0, share);

        group.all_gather(from, to).wait();

        for (int rank = 0; rank < group.size(); ++rank) {
          const TensorView part = to.cols_from(share * rank, share);
          ASSERT_TRUE(inputs(rank, ReduceOp::sum, dtype).is_at(part.data, 0, share))
              << describe(group, dtype, share) << ", share of rank " << rank;
        }
        ASSERT_TRUE(in.guards_are_intact() && out.guards_are_intact());
      }
    }
  });
}

TEST_P(Conformance, AllGatherMayReadFromItsOwnShareOfTheOutput) {
  as_each_rank([this](Communicator& group) {
    GuardedBuffer buffer(group, place(), largest_bytes());
    for (const std::int64_t total : counts()) {
      const std::int64_t share = total / group.size();
      const TensorView to = buffer.view(Dtype::bf16, share * group.size());
      const TensorView from = to.cols_from(share * group.rank(), share);
      inputs(group.rank(), ReduceOp::sum, Dtype::bf16).fill(from.data, 0, share);

      group.all_gather(from, to).wait();

      for (int rank = 0; rank < group.size(); ++rank) {
        const TensorView part = to.cols_from(share * rank, share);
        ASSERT_TRUE(inputs(rank, ReduceOp::sum, Dtype::bf16).is_at(part.data, 0, share))
            << describe(group, Dtype::bf16, share) << ", share of rank " << rank;
      }
      ASSERT_TRUE(buffer.guards_are_intact());
    }
  });
}

TEST_P(Conformance, BroadcastGivesEveryRankTheDataOfTheRoot) {
  as_each_rank([this](Communicator& group) {
    GuardedBuffer buffer(group, place(), largest_bytes());
    for (const Dtype dtype : kDtypes) {
      for (int root = 0; root < group.size(); ++root) {
        for (const std::int64_t count : counts()) {
          const TensorView data = buffer.view(dtype, count);
          inputs(group.rank(), ReduceOp::sum, dtype).fill(data.data, 0, count);

          group.broadcast(data, root).wait();

          ASSERT_TRUE(inputs(root, ReduceOp::sum, dtype).is_at(data.data, 0, count))
              << describe(group, dtype, count) << " from root " << root;
          ASSERT_TRUE(buffer.guards_are_intact());
        }
      }
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Backends, Conformance, testing::ValuesIn(all_cases()), name_of);

}  // namespace
}  // namespace muster::collectives
