#include "tests/collectives/conformance.hpp"

namespace muster::collectives {
namespace {

class GatherConformance : public Conformance {};

// `whole` is the inputs of all ranks, `shares` elements of each.
testing::AssertionResult is_concatenation(const TensorView& whole, const Shape& shape,
                                          const std::vector<std::int64_t>& shares) {
  std::int64_t begin = 0;
  for (std::size_t rank = 0; rank < shares.size(); ++rank) {
    const TensorView part = whole.cols_from(begin, shares[rank]);
    if (!inputs(static_cast<int>(rank), shape).is_at(part.data, 0, shares[rank])) {
      return testing::AssertionFailure() << "the share of rank " << rank << " is wrong";
    }
    begin += shares[rank];
  }
  return testing::AssertionSuccess();
}

std::vector<std::int64_t> equal_shares(std::int64_t share, int ranks) {
  return std::vector<std::int64_t>(static_cast<std::size_t>(ranks), share);
}

TEST_P(GatherConformance, AllGatherConcatenatesTheInputsInRankOrder) {
  as_each_rank([this](Communicator& group) {
    Buffers buffers(group, place(), most_bytes());
    for (const Shape& shape : moves()) {
      const std::int64_t share = shape.count / group.size();
      const TensorView from = buffers.in.view(shape.dtype, share);
      const TensorView to = buffers.out.view(shape.dtype, share * group.size());
      inputs(group.rank(), shape).fill(from.data, 0, share);

      group.all_gather(from, to).wait();

      ASSERT_TRUE(is_concatenation(to, shape, equal_shares(share, group.size())))
          << describe(group, shape);
      ASSERT_TRUE(buffers.guards_are_intact());
    }
  });
}

TEST_P(GatherConformance, AllGatherMayReadFromItsOwnShareOfTheOutput) {
  as_each_rank([this](Communicator& group) {
    GuardedBuffer buffer(group, place(), most_bytes());
    for (const Shape& shape : counts_of(Dtype::bf16)) {
      const std::int64_t share = shape.count / group.size();
      const TensorView to = buffer.view(shape.dtype, share * group.size());
      const TensorView from = to.cols_from(share * group.rank(), share);
      inputs(group.rank(), shape).fill(from.data, 0, share);

      group.all_gather(from, to).wait();

      ASSERT_TRUE(is_concatenation(to, shape, equal_shares(share, group.size())))
          << describe(group, shape);
      ASSERT_TRUE(buffer.guards_are_intact());
    }
  });
}

TEST_P(GatherConformance, AllGatherVConcatenatesSharesOfAnySizes) {
  as_each_rank([this](Communicator& group) {
    Buffers buffers(group, place(), most_bytes());
    for (const Shape& shape : moves()) {
      const std::vector<std::int64_t> shares = unequal_shares(shape.count, group.size());
      const std::int64_t share = shares[static_cast<std::size_t>(group.rank())];
      const TensorView from = buffers.in.view(shape.dtype, share);
      const TensorView to = buffers.out.view(shape.dtype, shape.count);
      inputs(group.rank(), shape).fill(from.data, 0, share);

      group.all_gather_v(from, to, shares).wait();

      ASSERT_TRUE(is_concatenation(to, shape, shares)) << describe(group, shape);
      ASSERT_TRUE(buffers.guards_are_intact());
    }
  });
}

// Some ranks' memory is symmetric and the rest not, on the side of inputs and of outputs.
TEST_P(GatherConformance, AllGatherWorksWhereverTheViewsLie) {
  as_each_rank([this](Communicator& group) {
    Buffers symmetric(group, Place::symmetric, most_bytes());
    Buffers own(group, place(), most_bytes());
    for (const Shape& shape : counts_of(Dtype::f32)) {
      const std::int64_t share = shape.count / group.size();
      for (const int first : {0, 1, 2}) {
        const bool in_symmetric = first == 2 && group.rank() == 0;
        const bool out_symmetric = first == 0 || (first == 1 && group.rank() > 0);
        const TensorView from = (in_symmetric ? symmetric : own).in.view(shape.dtype, share);
        const TensorView to =
            (out_symmetric ? symmetric : own).out.view(shape.dtype, share * group.size());
        inputs(group.rank(), shape).fill(from.data, 0, share);

        group.all_gather(from, to).wait();

        ASSERT_TRUE(is_concatenation(to, shape, equal_shares(share, group.size())))
            << describe(group, shape);
      }
    }
  });
}

TEST_P(GatherConformance, GatherConcatenatesTheInputsAtTheRoot) {
  as_each_rank([this](Communicator& group) {
    Buffers buffers(group, place(), most_bytes());
    for (const Shape& shape : moves()) {
      const std::int64_t share = shape.count / group.size();
      const bool is_root = group.rank() == shape.root;
      const TensorView from = buffers.in.view(shape.dtype, share);
      const TensorView to = buffers.out.view(shape.dtype, is_root ? share * group.size() : 0);
      inputs(group.rank(), shape).fill(from.data, 0, share);

      group.gather(from, to, shape.root).wait();

      if (is_root) {
        ASSERT_TRUE(is_concatenation(to, shape, equal_shares(share, group.size())))
            << describe(group, shape);
      }
      ASSERT_TRUE(inputs(group.rank(), shape).is_at(from.data, 0, share)) << describe(group, shape);
      ASSERT_TRUE(buffers.guards_are_intact());
    }
  });
}

TEST_P(GatherConformance, GatherMayReadFromTheRootsShareOfTheOutput) {
  as_each_rank([this](Communicator& group) {
    GuardedBuffer buffer(group, place(), most_bytes());
    for (const Shape& shape : counts_of(Dtype::i32)) {
      const std::int64_t share = shape.count / group.size();
      const TensorView whole = buffer.view(shape.dtype, share * group.size());
      const TensorView from = whole.cols_from(share * group.rank(), share);
      inputs(group.rank(), shape).fill(from.data, 0, share);

      group.gather(from, whole, shape.root).wait();

      if (group.rank() == shape.root) {
        ASSERT_TRUE(is_concatenation(whole, shape, equal_shares(share, group.size())))
            << describe(group, shape);
      }
      ASSERT_TRUE(buffer.guards_are_intact());
    }
  });
}

TEST_P(GatherConformance, ScatterGivesEveryRankItsShareOfTheRootsInput) {
  as_each_rank([this](Communicator& group) {
    Buffers buffers(group, place(), most_bytes());
    for (const Shape& shape : moves()) {
      const std::int64_t share = shape.count / group.size();
      const bool is_root = group.rank() == shape.root;
      const TensorView from = buffers.in.view(shape.dtype, is_root ? share * group.size() : 0);
      const TensorView to = buffers.out.view(shape.dtype, share);
      inputs(group.rank(), shape).fill(from.data, 0, from.count());

      group.scatter(from, to, shape.root).wait();

      ASSERT_TRUE(inputs(shape.root, shape).is_at(to.data, share * group.rank(), share))
          << describe(group, shape);
      ASSERT_TRUE(inputs(group.rank(), shape).is_at(from.data, 0, from.count()))
          << describe(group, shape);
      ASSERT_TRUE(buffers.guards_are_intact());
    }
  });
}

TEST_P(GatherConformance, ScatterMayWriteIntoTheRootsShareOfTheInput) {
  as_each_rank([this](Communicator& group) {
    GuardedBuffer buffer(group, place(), most_bytes());
    for (const Shape& shape : counts_of(Dtype::i8)) {
      const std::int64_t share = shape.count / group.size();
      const TensorView whole = buffer.view(shape.dtype, share * group.size());
      const TensorView to = whole.cols_from(share * group.rank(), share);
      inputs(group.rank(), shape).fill(whole.data, 0, whole.count());

      group.scatter(whole, to, shape.root).wait();

      ASSERT_TRUE(inputs(shape.root, shape).is_at(to.data, share * group.rank(), share))
          << describe(group, shape);
      ASSERT_TRUE(buffer.guards_are_intact());
    }
  });
}

// The other halves of the choice between the root's memory and the others'.
TEST_P(GatherConformance, GatherAndScatterWorkWhereverTheViewsLie) {
  as_each_rank([this](Communicator& group) {
    Buffers symmetric(group, Place::symmetric, most_bytes());
    Buffers own(group, place(), most_bytes());
    for (const Shape& shape : counts_of(Dtype::f32)) {
      const std::int64_t share = shape.count / group.size();
      for (const bool is_root_symmetric : {true, false}) {
        const TensorView part = (is_root_symmetric ? own : symmetric).in.view(shape.dtype, share);
        const TensorView whole =
            (is_root_symmetric ? symmetric : own).out.view(shape.dtype, share * group.size());
        inputs(group.rank(), shape).fill(part.data, 0, share);

        group.gather(part, whole, shape.root).wait();
        if (group.rank() == shape.root) {
          ASSERT_TRUE(is_concatenation(whole, shape, equal_shares(share, group.size())))
              << describe(group, shape);
        }
        inputs(group.rank(), shape).fill(whole.data, 0, whole.count());
        group.scatter(whole, part, shape.root).wait();

        ASSERT_TRUE(inputs(shape.root, shape).is_at(part.data, share * group.rank(), share))
            << describe(group, shape);
      }
    }
  });
}

TEST_P(GatherConformance, BroadcastGivesEveryRankTheDataOfTheRoot) {
  as_each_rank([this](Communicator& group) {
    GuardedBuffer buffer(group, place(), most_bytes());
    for (const Shape& shape : moves()) {
      const TensorView data = buffer.view(shape.dtype, shape.count);
      inputs(group.rank(), shape).fill(data.data, 0, shape.count);

      group.broadcast(data, shape.root).wait();

      ASSERT_TRUE(inputs(shape.root, shape).is_at(data.data, 0, shape.count))
          << describe(group, shape);
      ASSERT_TRUE(buffer.guards_are_intact());
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Backends, GatherConformance, testing::ValuesIn(all_conformance_cases()),
                         name_of_case);

}  // namespace
}  // namespace muster::collectives
