#include <numeric>

#include "tests/collectives/conformance.hpp"

namespace muster::collectives {
namespace {

class ExchangeConformance : public Conformance {};

TEST_P(ExchangeConformance, AllToAllTransposesTheShares) {
  as_each_rank([this](Communicator& group) {
    Buffers buffers(group, place(), most_bytes());
    for (const Shape& shape : moves()) {
      const std::int64_t share = shape.count / group.size();
      const TensorView from = buffers.in.view(shape.dtype, share * group.size());
      const TensorView to = buffers.out.view(shape.dtype, share * group.size());
      inputs(group.rank(), shape).fill(from.data, 0, from.count());

      group.all_to_all(from, to).wait();

      for (int rank = 0; rank < group.size(); ++rank) {
        const TensorView part = to.cols_from(share * rank, share);
        ASSERT_TRUE(inputs(rank, shape).is_at(part.data, share * group.rank(), share))
            << describe(group, shape) << ", share of rank " << rank;
      }
      ASSERT_TRUE(inputs(group.rank(), shape).is_at(from.data, 0, from.count()));
      ASSERT_TRUE(buffers.guards_are_intact());
    }
  });
}

// What one rank sends another in an all_to_all_v of about `total` elements: often nothing.
std::int64_t sent(int from, int to, std::int64_t total, int ranks) {
  return (from * 3 + to * 5 + total) % 4 * total / (3 * std::int64_t{ranks});
}

struct Lists {
  std::vector<std::int64_t> in;
  std::vector<std::int64_t> out;
};
Lists lists_of(int rank, std::int64_t total, int ranks) {
  Lists lists;
  for (int peer = 0; peer < ranks; ++peer) {
    lists.in.push_back(sent(rank, peer, total, ranks));
    lists.out.push_back(sent(peer, rank, total, ranks));
  }
  return lists;
}
std::int64_t sum(const std::vector<std::int64_t>& counts, int first_ranks) {
  return std::accumulate(counts.begin(), counts.begin() + first_ranks, std::int64_t{0});
}

testing::AssertionResult has_come_from_everyone(const Communicator& group, const TensorView& to,
                                                const Shape& shape) {
  const Lists mine = lists_of(group.rank(), shape.count, group.size());
  for (int rank = 0; rank < group.size(); ++rank) {
    const Lists theirs = lists_of(rank, shape.count, group.size());
    const std::int64_t count = mine.out[static_cast<std::size_t>(rank)];
    const TensorView part = to.cols_from(sum(mine.out, rank), count);
    if (!inputs(rank, shape).is_at(part.data, sum(theirs.in, group.rank()), count)) {
      return testing::AssertionFailure() << "what came from rank " << rank << " is wrong";
    }
  }
  return testing::AssertionSuccess();
}

TEST_P(ExchangeConformance, AllToAllVTransposesSharesOfAnySizes) {
  as_each_rank([this](Communicator& group) {
    Buffers buffers(group, place(), most_bytes());
    for (const Shape& shape : moves()) {
      const Lists lists = lists_of(group.rank(), shape.count, group.size());
      const TensorView from = buffers.in.view(shape.dtype, sum(lists.in, group.size()));
      const TensorView to = buffers.out.view(shape.dtype, sum(lists.out, group.size()));
      inputs(group.rank(), shape).fill(from.data, 0, from.count());

      group.all_to_all_v(from, to, lists.in, lists.out).wait();

      ASSERT_TRUE(has_come_from_everyone(group, to, shape)) << describe(group, shape);
      ASSERT_TRUE(inputs(group.rank(), shape).is_at(from.data, 0, from.count()));
      ASSERT_TRUE(buffers.guards_are_intact());
    }
  });
}

TEST_P(ExchangeConformance, AllToAllVWorksWhereverTheViewsLie) {
  as_each_rank([this](Communicator& group) {
    Buffers symmetric(group, Place::symmetric, most_bytes());
    Buffers own(group, place(), most_bytes());
    for (const Shape& shape : counts_of(Dtype::f32)) {
      const Lists lists = lists_of(group.rank(), shape.count, group.size());
      const TensorView from = own.in.view(shape.dtype, sum(lists.in, group.size()));
      const TensorView to = symmetric.out.view(shape.dtype, sum(lists.out, group.size()));
      inputs(group.rank(), shape).fill(from.data, 0, from.count());

      group.all_to_all_v(from, to, lists.in, lists.out).wait();

      ASSERT_TRUE(has_come_from_everyone(group, to, shape)) << describe(group, shape);
    }
  });
}

TEST_P(ExchangeConformance, SendReceiveShiftsAroundTheRing) {
  as_each_rank([this](Communicator& group) {
    Buffers buffers(group, place(), most_bytes());
    for (const Shape& shape : moves()) {
      const int shift = shape.root;  // by 0 too: every rank its own partner
      const int next = (group.rank() + shift) % group.size();
      const int last = (group.rank() + group.size() - shift) % group.size();
      const TensorView out = buffers.in.view(shape.dtype, shape.count);
      const TensorView in = buffers.out.view(shape.dtype, shape.count);
      inputs(group.rank(), shape).fill(out.data, 0, shape.count);

      group.send_receive(out, next, in, last).wait();

      ASSERT_TRUE(inputs(last, shape).is_at(in.data, 0, shape.count)) << describe(group, shape);
      ASSERT_TRUE(inputs(group.rank(), shape).is_at(out.data, 0, shape.count));
      ASSERT_TRUE(buffers.guards_are_intact());
    }
  });
}

// Each way another count: the messages of a pair need not be alike.
TEST_P(ExchangeConformance, SendReceiveTakesDifferentCountsEachWay) {
  as_each_rank([this](Communicator& group) {
    if (group.size() < 2 || group.rank() > 1) return;
    Buffers buffers(group, Place::private_memory, most_bytes());
    const int peer = 1 - group.rank();
    for (const Shape& shape : counts_of(Dtype::f32)) {
      const std::int64_t half = shape.count / 2;
      const std::int64_t to_send = group.rank() == 0 ? half : shape.count;
      const TensorView out = buffers.in.view(shape.dtype, to_send);
      const TensorView in = buffers.out.view(shape.dtype, shape.count + half - to_send);
      inputs(group.rank(), shape).fill(out.data, 0, out.count());

      group.send_receive(out, peer, in, peer).wait();

      ASSERT_TRUE(inputs(peer, shape).is_at(in.data, 0, in.count())) << describe(group, shape);
      ASSERT_TRUE(buffers.guards_are_intact());
    }
  });
}

TEST_P(ExchangeConformance, ReceiveThenSendPassesDataAlongAChain) {
  as_each_rank([this](Communicator& group) {
    GuardedBuffer buffer(group, place(), most_bytes());
    const int last = group.size() - 1;
    for (const Shape& shape : moves()) {
      const TensorView data = buffer.view(shape.dtype, shape.count);
      if (group.rank() == 0) inputs(0, shape).fill(data.data, 0, shape.count);

      if (group.rank() > 0) group.receive(data, group.rank() - 1).wait();
      if (group.rank() < last) group.send(data, group.rank() + 1).wait();

      ASSERT_TRUE(inputs(0, shape).is_at(data.data, 0, shape.count)) << describe(group, shape);
      ASSERT_TRUE(buffer.guards_are_intact());
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Backends, ExchangeConformance, testing::ValuesIn(all_conformance_cases()),
                         name_of_case);

}  // namespace
}  // namespace muster::collectives
