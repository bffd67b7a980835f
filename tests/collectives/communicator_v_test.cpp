#include <cstdint>
#include <limits>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/collectives/counting_communicator.hpp"

/// The checks of calls with a root, with lists of counts, and between two ranks.
namespace muster::collectives {
namespace {

using testing::AllOf;
using testing::HasSubstr;

using Counts = std::vector<std::int64_t>;

TEST_F(CommunicatorChecks, RootsOfEveryKindAreRanks) {
  for (const int root : {-1, 4}) {
    EXPECT_THAT(refusal([&] { group_.reduce(data(0, 2), data(2, 2), ReduceOp::sum, root).wait(); }),
                HasSubstr("not a rank of a group of 4"));
    EXPECT_THAT(refusal([&] { group_.gather(data(0, 2), data(8, 8), root).wait(); }),
                HasSubstr("not a rank of a group of 4"));
    EXPECT_THAT(refusal([&] { group_.scatter(data(8, 8), data(0, 2), root).wait(); }),
                HasSubstr("not a rank of a group of 4"));
  }
}

TEST_F(CommunicatorChecks, TheRootNeedsTheWholeAndTheOthersDoNot) {
  EXPECT_THAT(refusal([&] { group_.gather(data(0, 2), data(8, 7), 1).wait(); }),
              HasSubstr("out must have 4 x in's count"));
  EXPECT_THAT(refusal([&] { group_.scatter(data(8, 7), data(0, 2), 1).wait(); }),
              HasSubstr("in must have 4 x out's count"));
  EXPECT_THAT(refusal([&] { group_.reduce(data(0, 2), data(8, 3), ReduceOp::sum, 1).wait(); }),
              HasSubstr("one count"));

  group_.gather(data(0, 2), TensorView(), 0).wait();
  group_.scatter(TensorView(), data(0, 2), 0).wait();
  group_.reduce(data(0, 2), TensorView(), ReduceOp::sum, 0).wait();

  EXPECT_EQ(group_.calls.size(), 3U);
}

TEST_F(CommunicatorChecks, WhatARankDoesNotNeedIsEmptyForBackEnds) {
  group_.gather(data(0, 2), data(8, 8), 0).wait();
  EXPECT_EQ(group_.calls.back().out.count(), 0);
  EXPECT_EQ(group_.calls.back().count, 2);
  group_.scatter(data(8, 8), data(0, 2), 0).wait();
  EXPECT_EQ(group_.calls.back().in.count(), 0);
  EXPECT_EQ(group_.calls.back().count, 2);
}

TEST_F(CommunicatorChecks, RootsMayUseTheirOwnShareInPlace) {
  group_.gather(data(2, 2), data(0, 8), 1).wait();
  group_.scatter(data(0, 8), data(2, 2), 1).wait();
  EXPECT_EQ(group_.calls.size(), 2U);
  group_.calls.clear();

  EXPECT_THAT(refusal([&] { group_.gather(data(0, 2), data(0, 8), 1).wait(); }),
              HasSubstr("overlap"));
  EXPECT_THAT(refusal([&] { group_.scatter(data(0, 8), data(0, 2), 1).wait(); }),
              HasSubstr("overlap"));
  EXPECT_THAT(refusal([&] { group_.reduce(data(0, 8), data(4, 8), ReduceOp::sum, 1).wait(); }),
              HasSubstr("overlap"));
}

TEST_F(CommunicatorChecks, AllToAllNeedsEqualSharesAndNeverWorksInPlace) {
  EXPECT_THAT(refusal([&] { group_.all_to_all(data(0, 6), data(8, 6)).wait(); }),
              HasSubstr("6 elements are no 4 equal shares"));
  EXPECT_THAT(refusal([&] { group_.all_to_all(data(0, 8), data(8, 4)).wait(); }),
              HasSubstr("one count"));
  EXPECT_THAT(refusal([&] { group_.all_to_all(data(0, 8), data(0, 8)).wait(); }),
              HasSubstr("overlap"));
  EXPECT_THAT(refusal([&] { group_.all_to_all(data(0, 8), data(4, 8)).wait(); }),
              HasSubstr("overlap"));
}

TEST(CommunicatorOfOne, AllToAllIsACopyThatMayNotOverlapInPart) {
  std::vector<float> numbers(16);
  CountingCommunicator group(1);
  const TensorView data = vector_view(numbers.data(), 8);

  const std::string text = error_text(ErrorCode::invalid_argument, [&] {
    group.all_to_all(data, vector_view(numbers.data() + 4, 8)).wait();
  });

  EXPECT_THAT(text, HasSubstr("overlap"));
  group.all_to_all(data, data).wait();
  EXPECT_EQ(group.calls.size(), 1U);
}

TEST_F(CommunicatorChecks, CountsAreOnePerRankAndNotNegative) {
  const auto gather_with = [&](const Counts& counts) {
    return refusal([&] { group_.all_gather_v(data(0, 2), data(8, 8), counts).wait(); });
  };
  EXPECT_THAT(gather_with({2, 2, 4}), HasSubstr("3 counts given for 4 ranks"));
  EXPECT_THAT(gather_with({}), HasSubstr("0 counts given for 4 ranks"));
  EXPECT_THAT(gather_with({2, 2, -1, 5}), HasSubstr("counts[2] is -1"));
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  EXPECT_THAT(gather_with({2, 2, most, 5}), HasSubstr("counts[2] is 9223372036854775807"));
}

TEST_F(CommunicatorChecks, ViewsHaveWhatTheCountsSay) {
  const Counts counts = {1, 3, 0, 4};
  EXPECT_THAT(refusal([&] { group_.all_gather_v(data(0, 2), data(8, 8), counts).wait(); }),
              HasSubstr("in must have 3 elements"));
  EXPECT_THAT(refusal([&] { group_.all_gather_v(data(0, 3), data(8, 9), counts).wait(); }),
              HasSubstr("out must have 8 elements"));
  EXPECT_THAT(refusal([&] {
                group_.reduce_scatter_v(data(8, 7), data(0, 3), counts, ReduceOp::sum).wait();
              }),
              HasSubstr("in must have 8 elements"));
  EXPECT_THAT(refusal([&] {
                group_.reduce_scatter_v(data(8, 8), data(0, 4), counts, ReduceOp::sum).wait();
              }),
              HasSubstr("out must have 3 elements"));

  group_.all_gather_v(data(0, 3), data(8, 8), counts).wait();
  group_.reduce_scatter_v(data(8, 8), data(0, 3), counts, ReduceOp::sum).wait();
  EXPECT_EQ(group_.calls.size(), 2U);
  EXPECT_EQ(group_.calls.back().count, 8);
}

TEST_F(CommunicatorChecks, UnequalSharesMayBeUsedInPlaceWhereTheyBegin) {
  const Counts counts = {1, 3, 0, 4};
  group_.all_gather_v(data(1, 3), data(0, 8), counts).wait();
  group_.reduce_scatter_v(data(0, 8), data(1, 3), counts, ReduceOp::sum).wait();
  EXPECT_EQ(group_.calls.size(), 2U);
  group_.calls.clear();

  EXPECT_THAT(refusal([&] { group_.all_gather_v(data(2, 3), data(0, 8), counts).wait(); }),
              HasSubstr("overlap"));
}

TEST_F(CommunicatorChecks, AllToAllVNeedsBothListsAndAgreesWithItself) {
  const Counts counts = {1, 2, 0, 4};
  const Counts other = {1, 3, 0, 3};
  const auto exchange = [&](const Counts& in_counts, const Counts& out_counts) {
    return refusal(
        [&] { group_.all_to_all_v(data(0, 7), data(8, 7), in_counts, out_counts).wait(); });
  };
  EXPECT_THAT(exchange(counts, {1, 2, 4}), HasSubstr("3 out_counts given for 4 ranks"));
  EXPECT_THAT(exchange({1, 2, 4}, counts), HasSubstr("3 in_counts given for 4 ranks"));
  EXPECT_THAT(exchange({1, 2, 0, 5}, counts), HasSubstr("in must have 8 elements"));
  EXPECT_THAT(exchange(counts, other), HasSubstr("rank 1 sends itself 2 elements and expects 3"));
  EXPECT_THAT(refusal([&] { group_.all_to_all_v(data(0, 7), data(0, 7), counts, counts).wait(); }),
              HasSubstr("overlap"));
}

TEST_F(CommunicatorChecks, PartnersAreOtherRanksOrTwiceOneself) {
  EXPECT_THAT(refusal([&] { group_.send(data(0, 2), 4).wait(); }),
              AllOf(HasSubstr("to 4"), HasSubstr("not a rank of a group of 4")));
  EXPECT_THAT(refusal([&] { group_.receive(data(0, 2), -1).wait(); }), HasSubstr("from -1"));
  EXPECT_THAT(refusal([&] { group_.send_receive(data(0, 2), 9, data(2, 2), 0).wait(); }),
              HasSubstr("to 9"));
  EXPECT_THAT(refusal([&] { group_.send(data(0, 2), 1).wait(); }), HasSubstr("itself alone"));
  EXPECT_THAT(refusal([&] { group_.receive(data(0, 2), 1).wait(); }), HasSubstr("itself alone"));
  EXPECT_THAT(refusal([&] { group_.send_receive(data(0, 2), 1, data(2, 2), 0).wait(); }),
              HasSubstr("only as both"));
  EXPECT_THAT(refusal([&] { group_.send_receive(data(0, 2), 1, data(2, 3), 1).wait(); }),
              HasSubstr("one count"));

  group_.send_receive(data(0, 2), 1, data(2, 2), 1).wait();
  EXPECT_EQ(group_.calls.size(), 1U);
}

TEST_F(CommunicatorChecks, WhatIsSentAndReceivedMayNotOverlap) {
  EXPECT_THAT(refusal([&] { group_.send_receive(data(0, 4), 0, data(0, 4), 2).wait(); }),
              HasSubstr("overlap"));
}

TEST_F(CommunicatorChecks, MessagesTakeNoSequenceNumberAndMayBeEmpty) {
  group_.send(data(0, 0), 0).wait();
  group_.receive(data(0, 0), 0).wait();
  group_.barrier();

  ASSERT_EQ(group_.calls.size(), 3U);
  EXPECT_EQ(group_.calls[0].to, 0);
  EXPECT_EQ(group_.calls[0].from, Call::kNobody);
  EXPECT_EQ(group_.calls[1].from, 0);
  EXPECT_EQ(group_.calls.back().sequence, 0U);
}

}  // namespace
}  // namespace muster::collectives
