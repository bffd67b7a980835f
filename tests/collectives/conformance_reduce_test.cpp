#include <numeric>

#include "tests/collectives/conformance.hpp"

namespace muster::collectives {
namespace {

class ReduceConformance : public Conformance {};

TEST_P(ReduceConformance, AllReduceGivesEveryRankTheReductionOfAll) {
  as_each_rank([this](Communicator& group) {
    Buffers buffers(group, place(), most_bytes());
    for (const Shape& shape : reductions()) {
      const Pattern input = inputs(group.rank(), shape);
      const TensorView from = buffers.in.view(shape.dtype, shape.count);
      const TensorView to = buffers.out.view(shape.dtype, shape.count);
      input.fill(from.data, 0, shape.count);

      group.all_reduce(from, to, shape.op).wait();

      ASSERT_TRUE(results(group.size(), shape).is_at(to.data, 0, shape.count))
          << describe(group, shape);
      ASSERT_TRUE(input.is_at(from.data, 0, shape.count)) << describe(group, shape);
      ASSERT_TRUE(buffers.guards_are_intact());
    }
  });
}

TEST_P(ReduceConformance, AllReduceWorksInPlace) {
  as_each_rank([this](Communicator& group) {
    GuardedBuffer buffer(group, place(), most_bytes());
    for (const Shape& shape : moves()) {
      const TensorView data = buffer.view(shape.dtype, shape.count);
      inputs(group.rank(), shape).fill(data.data, 0, shape.count);

      group.all_reduce(data, data, ReduceOp::sum).wait();

      ASSERT_TRUE(results(group.size(), shape).is_at(data.data, 0, shape.count))
          << describe(group, shape);
      ASSERT_TRUE(buffer.guards_are_intact());
    }
  });
}

TEST_P(ReduceConformance, ReduceGivesTheRootTheReductionOfAll) {
  as_each_rank([this](Communicator& group) {
    Buffers buffers(group, place(), most_bytes());
    for (const Shape& shape : reductions()) {
      const Pattern input = inputs(group.rank(), shape);
      const bool is_root = group.rank() == shape.root;
      const TensorView from = buffers.in.view(shape.dtype, shape.count);
      const TensorView to = buffers.out.view(shape.dtype, is_root ? shape.count : 0);
      input.fill(from.data, 0, shape.count);

      group.reduce(from, to, shape.op, shape.root).wait();

      ASSERT_TRUE(results(group.size(), shape).is_at(to.data, 0, to.count()))
          << describe(group, shape);
      ASSERT_TRUE(input.is_at(from.data, 0, shape.count)) << describe(group, shape);
      ASSERT_TRUE(buffers.guards_are_intact());
    }
  });
}

TEST_P(ReduceConformance, ReduceMayWriteOverTheRootsInput) {
  as_each_rank([this](Communicator& group) {
    GuardedBuffer buffer(group, place(), most_bytes());
    for (const Shape& shape : counts_of(Dtype::f32)) {
      const TensorView data = buffer.view(shape.dtype, shape.count);
      inputs(group.rank(), shape).fill(data.data, 0, shape.count);

      group.reduce(data, data, shape.op, shape.root).wait();

      const Pattern expected =
          group.rank() == shape.root ? results(group.size(), shape) : inputs(group.rank(), shape);
      ASSERT_TRUE(expected.is_at(data.data, 0, shape.count)) << describe(group, shape);
      ASSERT_TRUE(buffer.guards_are_intact());
    }
  });
}

TEST_P(ReduceConformance, ReduceScatterGivesEveryRankItsShareOfTheReduction) {
  as_each_rank([this](Communicator& group) {
    Buffers buffers(group, place(), most_bytes());
    for (const Shape& shape : reductions()) {
      const Pattern input = inputs(group.rank(), shape);
      const std::int64_t share = shape.count / group.size();
      const TensorView from = buffers.in.view(shape.dtype, share * group.size());
      const TensorView to = buffers.out.view(shape.dtype, share);
      input.fill(from.data, 0, from.count());

      group.reduce_scatter(from, to, shape.op).wait();

      ASSERT_TRUE(results(group.size(), shape).is_at(to.data, share * group.rank(), share))
          << describe(group, shape);
      ASSERT_TRUE(input.is_at(from.data, 0, from.count())) << describe(group, shape);
      ASSERT_TRUE(buffers.guards_are_intact());
    }
  });
}

TEST_P(ReduceConformance, ReduceScatterMayWriteIntoItsOwnShareOfTheInput) {
  as_each_rank([this](Communicator& group) {
    GuardedBuffer buffer(group, place(), most_bytes());
    for (const Shape& shape : counts_of(Dtype::f32)) {
      const std::int64_t share = shape.count / group.size();
      const TensorView from = buffer.view(shape.dtype, share * group.size());
      inputs(group.rank(), shape).fill(from.data, 0, from.count());
      const TensorView to = from.cols_from(share * group.rank(), share);

      group.reduce_scatter(from, to, shape.op).wait();

      ASSERT_TRUE(results(group.size(), shape).is_at(to.data, share * group.rank(), share))
          << describe(group, shape);
      ASSERT_TRUE(buffer.guards_are_intact());
    }
  });
}

TEST_P(ReduceConformance, ReduceScatterVGivesSharesOfTheSizesAskedFor) {
  as_each_rank([this](Communicator& group) {
    Buffers buffers(group, place(), most_bytes());
    for (const Shape& shape : reductions()) {
      const std::vector<std::int64_t> shares = unequal_shares(shape.count, group.size());
      const std::int64_t begin =
          std::accumulate(shares.begin(), shares.begin() + group.rank(), std::int64_t{0});
      const TensorView from = buffers.in.view(shape.dtype, shape.count);
      const TensorView to =
          buffers.out.view(shape.dtype, shares[static_cast<std::size_t>(group.rank())]);
      inputs(group.rank(), shape).fill(from.data, 0, shape.count);

      group.reduce_scatter_v(from, to, shares, shape.op).wait();

      ASSERT_TRUE(results(group.size(), shape).is_at(to.data, begin, to.count()))
          << describe(group, shape);
      ASSERT_TRUE(buffers.guards_are_intact());
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Backends, ReduceConformance, testing::ValuesIn(all_conformance_cases()),
                         name_of_case);

}  // namespace
}  // namespace muster::collectives
