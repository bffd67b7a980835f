#include "collectives/communicator.hpp"

#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/collectives/counting_communicator.hpp"

/// What is checked before any back end sees a call.
namespace muster::collectives {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST_F(CommunicatorChecks, CountsMustMatch) {
  EXPECT_THAT(refusal([&] { group_.all_reduce(data(0, 8), data(8, 9), ReduceOp::sum).wait(); }),
              AllOf(HasSubstr("all_reduce"), HasSubstr("f32[1, 8]"), HasSubstr("f32[1, 9]")));
  EXPECT_THAT(refusal([&] { group_.all_gather(data(0, 2), data(8, 9)).wait(); }),
              HasSubstr("out must have 4 x in's count"));
  EXPECT_THAT(
      refusal([&] { group_.reduce_scatter(data(0, 9), data(16, 2), ReduceOp::sum).wait(); }),
      HasSubstr("in must have 4 x out's count"));
}

TEST_F(CommunicatorChecks, DtypesMustMatch) {
  TensorView other = data(8, 8);
  other.dtype = Dtype::i32;

  EXPECT_THAT(refusal([&] { group_.all_reduce(data(0, 8), other, ReduceOp::sum).wait(); }),
              HasSubstr("one dtype"));
}

TEST_F(CommunicatorChecks, ViewsMustBeContiguous) {
  const TensorView columns = matrix_view(numbers_.data(), 4, 8).cols_from(0, 4);

  EXPECT_THAT(refusal([&] { group_.broadcast(columns, 0).wait(); }), HasSubstr("contiguous"));
}

TEST_F(CommunicatorChecks, ViewsMayNotOverlapInPart) {
  EXPECT_THAT(refusal([&] { group_.all_reduce(data(0, 8), data(4, 8), ReduceOp::sum).wait(); }),
              HasSubstr("overlap"));
  EXPECT_THAT(refusal([&] { group_.all_gather(data(0, 2), data(0, 8)).wait(); }),
              HasSubstr("overlap"));
  EXPECT_THAT(refusal([&] { group_.reduce_scatter(data(0, 8), data(0, 2), ReduceOp::sum).wait(); }),
              HasSubstr("overlap"));
}

TEST_F(CommunicatorChecks, TheOwnShareMayBePartOfTheWhole) {
  group_.all_gather(data(2, 2), data(0, 8)).wait();
  group_.reduce_scatter(data(0, 8), data(2, 2), ReduceOp::sum).wait();
  group_.all_reduce(data(0, 8), data(0, 8), ReduceOp::sum).wait();

  EXPECT_EQ(group_.calls.size(), 3U);
}

TEST_F(CommunicatorChecks, AViewWithElementsNeedsData) {
  const TensorView nothing(nullptr, Dtype::f32, 1, 8);

  EXPECT_THAT(refusal([&] { group_.all_reduce(nothing, data(0, 8), ReduceOp::sum).wait(); }),
              HasSubstr("no data"));
}

TEST_F(CommunicatorChecks, NegativeShapesAreRefused) {
  const TensorView negative(data(0, 1).data, Dtype::f32, 1, -1);

  EXPECT_THAT(refusal([&] { group_.broadcast(negative, 0).wait(); }), HasSubstr("negative"));
}

TEST_F(CommunicatorChecks, RootsLanesAndTimeoutsHaveLimits) {
  for (const int root : {-1, 4}) {
    EXPECT_THAT(refusal([&] { group_.broadcast(data(0, 8), root).wait(); }),
                HasSubstr("not a rank of a group of 4"));
  }
  for (const int lane : {-1, 4}) {
    EXPECT_THAT(refusal([&] { group_.barrier({.lane = lane}); }), HasSubstr("not one of 0 to 3"));
  }
  for (const double timeout_s : {0.0, -1.0, std::nan("")}) {
    EXPECT_THAT(refusal([&] { group_.barrier({.timeout_s = timeout_s}); }), HasSubstr("above 0"));
  }
}

TEST_F(CommunicatorChecks, ARefusedCallTakesNoSequenceNumber) {
  refusal([&] { group_.barrier({.lane = 9}); });
  refusal([&] { group_.broadcast(data(0, 8), 9).wait(); });
  group_.barrier();

  EXPECT_EQ(group_.calls.back().sequence, 0U);
}

TEST_F(CommunicatorChecks, EachLaneCountsItsCallsEmptyOnesToo) {
  group_.barrier({.lane = 1});
  group_.all_reduce(data(0, 0), data(0, 0), ReduceOp::sum, {.lane = 1}).wait();
  group_.barrier({.lane = 2});
  group_.barrier({.lane = 1});

  ASSERT_EQ(group_.calls.size(), 3U);
  EXPECT_EQ(group_.calls[1].sequence, 0U);
  EXPECT_EQ(group_.calls[2].sequence, 2U);
}

TEST_F(CommunicatorChecks, BackEndsSeeVectorsWhateverTheShape) {
  group_.all_reduce(matrix_view(numbers_.data(), 4, 4), data(16, 16), ReduceOp::sum).wait();

  EXPECT_EQ(group_.calls.back().in.rows, 1);
  EXPECT_EQ(group_.calls.back().in.cols, 16);
}

TEST(DeadlineOf, VeryLongTimesMeanNever) {
  EXPECT_TRUE(deadline_of({.timeout_s = std::numeric_limits<double>::infinity()}).is_never());
  EXPECT_TRUE(deadline_of({.timeout_s = 1e300}).is_never());
  EXPECT_FALSE(deadline_of({.timeout_s = 1e8}).is_never());
}

}  // namespace
}  // namespace muster::collectives
