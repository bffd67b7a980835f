#include "collectives/mpi/mpi_communicator.hpp"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/devices.hpp"
#include "tests/collectives/mpi/fake_group.hpp"
#include "tests/support/error_text.hpp"

namespace muster::collectives::mpi {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class OverAFake : public testing::Test {
 protected:
  // Rank 0 of 3.
  MpiCommunicator make(const MpiCommunicator::Options& options = {}) {
    const GroupSpec spec{.name = "world", .size = 3, .hosts = {"a", "a", "a"}};
    auto group = std::make_unique<FakeGroup>();
    fake_ = group.get();
    return MpiCommunicator(spec, std::move(group), *device_, options);
  }

  std::unique_ptr<kernels::Device> device_ = kernels::open_device("cpu", kernels::DeviceOptions());
  FakeGroup* fake_ = nullptr;
  std::vector<float> data_ = std::vector<float>(64);
  TensorView view_ = vector_view(data_.data(), 64);
};

TEST_F(OverAFake, ALibraryOfOneThreadServesLane0Alone) {
  MpiCommunicator group = make({.lanes = 1});
  group.all_reduce(view_, view_, ReduceOp::sum).wait();

  const std::string text = error_text(ErrorCode::unsupported, [&] {
    group.all_reduce(view_, view_, ReduceOp::sum, {.lane = 1}).wait();
  });

  EXPECT_THAT(text, AllOf(HasSubstr("lane 1 of group world"), HasSubstr("MPI_THREAD_SERIALIZED")));
  group.all_reduce(view_, view_, ReduceOp::sum).wait();
}

TEST_F(OverAFake, AverageIsASumAndADivisionAtTheEnd) {
  MpiCommunicator group = make();
  data_.assign(64, 7.5F);

  group.all_reduce(view_, view_, ReduceOp::avg).wait();

  EXPECT_EQ(fake_->operations.back().op, ReduceOp::sum);
  EXPECT_EQ(data_, std::vector<float>(64, 2.5F));
}

TEST_F(OverAFake, ALargeVectorGoesInPiecesThatCoverIt) {
  MpiCommunicator group = make({.largest_bytes = 100});  // 25 of the elements

  group.broadcast(view_, 0).wait();

  ASSERT_THAT(fake_->operations, SizeIs(1 + 3));  // the agreement first
  EXPECT_EQ(fake_->operations[1].count, 25);
  EXPECT_EQ(fake_->operations[2].out, data_.data() + 25);
  EXPECT_EQ(fake_->operations[3].out, data_.data() + 50);
  EXPECT_EQ(fake_->operations[3].count, 14);
}

// More elements than an int counts, which nobody touches: the memory need not be there.
TEST_F(OverAFake, MoreElementsThanAnIntCountsGoInPieces) {
  MpiCommunicator group = make();
  const std::int64_t count = (std::int64_t{1} << 32) + 5;
  const TensorView huge(reinterpret_cast<std::byte*>(data_.data()), Dtype::u8, 1, count);

  group.broadcast(huge, 1).wait();

  ASSERT_THAT(fake_->operations, SizeIs(1 + 5));
  EXPECT_EQ(fake_->operations[1].count, 1 << 30);
  EXPECT_EQ(fake_->operations[5].count, 5);
}

TEST_F(OverAFake, WhatMpiRefusesIsAnErrorInItsWords) {
  MpiCommunicator group = make();
  fake_->error = 16;

  const std::string text =
      error_text(ErrorCode::io, [&] { group.all_reduce(view_, view_, ReduceOp::sum).wait(); });

  EXPECT_THAT(text, AllOf(HasSubstr("all_reduce f32[64] (group world, lane 0, seq 0)"),
                          HasSubstr("the switch is on fire")));
}

TEST_F(OverAFake, MemoryThatMpiMayStillUseIsLeftToTheSession) {
  MpiCommunicator group = make();
  group.barrier();
  EXPECT_THAT(fake_->abandoned, IsEmpty());
  fake_->is_held_up = true;

  error_text(ErrorCode::timeout, [&] { group.barrier({.timeout_s = 0.01}); });

  EXPECT_THAT(fake_->abandoned, SizeIs(1));
}

TEST_F(OverAFake, ATimeoutAsksTheOthersWhereTheyAre) {
  MpiCommunicator group = make();
  fake_->is_held_up = true;

  const std::string text = error_text(
      ErrorCode::timeout, [&] { group.barrier({.label = "the first", .timeout_s = 0.01}); });

  EXPECT_THAT(text, AllOf(HasSubstr("barrier \"the first\" (group world, lane 0, seq 0)"),
                          HasSubstr("limit 0.01 s"), HasSubstr("not there yet: rank 1, 2;")));
  ASSERT_THAT(fake_->posted, SizeIs(2));
  EXPECT_EQ(fake_->posted[0].rank, 1);
  EXPECT_EQ(fake_->posted[1].rank, 2);
}

// The question of one rank, given back as the answers of two.
TEST_F(OverAFake, RanksThatAnswerHaveCome) {
  std::vector<std::byte> question;
  {
    MpiCommunicator asking = make();
    fake_->is_held_up = true;
    error_text(ErrorCode::timeout, [&] { asking.barrier({.timeout_s = 0.01}); });
    question = fake_->posted.front().bytes;
  }
  MpiCommunicator group = make();
  fake_->is_held_up = true;
  fake_->arriving = {{1, question}, {2, question}};

  const std::string text =
      error_text(ErrorCode::timeout, [&] { group.barrier({.timeout_s = 0.01}); });

  EXPECT_THAT(text, HasSubstr("nobody, all have come to this call"));
}

TEST_F(OverAFake, NotesThatAreNoneAreIgnored) {
  MpiCommunicator group = make();
  fake_->arriving = {{1, std::vector<std::byte>(3)}, {2, std::vector<std::byte>(kNoteBytes)}};

  group.all_reduce(view_, view_, ReduceOp::sum).wait();

  EXPECT_THAT(fake_->operations, SizeIs(2));
}

TEST_F(OverAFake, SignsOfLifeAreSentSeldom) {
  MpiCommunicator group = make();

  for (int i = 0; i < 1000; ++i) group.heartbeat();

  EXPECT_LE(fake_->posted.size(), 2U * 100U);  // 1000 calls take far less than 10 s
}

}  // namespace
}  // namespace muster::collectives::mpi
