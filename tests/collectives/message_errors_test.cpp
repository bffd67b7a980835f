#include <latch>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "collectives/communicator.hpp"
#include "tests/collectives/rank_threads.hpp"
#include "tests/support/error_text.hpp"
#include "tests/support/float_view.hpp"

/// Messages between two ranks: what is kept for a receiver that has not come, and how they fail.
namespace muster::collectives {
namespace {

using test::view_of;
using testing::AllOf;
using testing::HasSubstr;

class Messages : public testing::TestWithParam<BackendUnderTest> {
 protected:
  void as_each_rank(int ranks, const std::function<void(Communicator&)>& body) const {
    RankThreads{.backend = GetParam(), .ranks = ranks}.run(body);
  }
};

TEST_P(Messages, ASmallOneIsSentBeforeAnybodyReceives) {
  if (!GetParam().has_threads()) GTEST_SKIP() << "its ranks meet in memory of the test";
  std::latch have_sent(1);
  as_each_rank(2, [&](Communicator& group) {
    std::vector<float> data(1000, 7.0F);
    if (group.rank() == 0) {
      group.send(view_of(data), 1).wait();
      have_sent.count_down();
      group.barrier();
      return;
    }
    have_sent.wait();
    data.assign(data.size(), 0.0F);

    group.receive(view_of(data), 0).wait();

    EXPECT_EQ(data, std::vector<float>(1000, 7.0F));
    group.barrier();
  });
}

TEST_P(Messages, OfOnePairKeepTheirOrder) {
  as_each_rank(2, [](Communicator& group) {
    for (int i = 0; i < 200; ++i) {
      std::vector<float> data(static_cast<std::size_t>(i * i), static_cast<float>(i));
      if (group.rank() == 0) {
        group.send(view_of(data), 1).wait();
        continue;
      }
      std::vector<float> received(data.size());
      group.receive(view_of(received), 0).wait();
      EXPECT_EQ(received, data);
    }
    group.barrier();
  });
}

// Rank 1 passes on only after it has all of a long message: rank 0 must send while it waits.
TEST_P(Messages, SendingGoesOnWhileNothingIsReceived) {
  as_each_rank(3, [](Communicator& group) {
    std::vector<float> large(2000000, 5.0F);
    std::vector<float> small(10, static_cast<float>(group.rank()));
    if (group.rank() == 0) {
      group.send_receive(view_of(large), 1, view_of(small), 2).wait();
      EXPECT_EQ(small, std::vector<float>(10, 1.0F));
      return;
    }
    if (group.rank() == 1) {
      group.receive(view_of(large), 0).wait();
      group.send(view_of(small), 2).wait();
      return;
    }
    group.receive(view_of(small), 1).wait();
    group.send(view_of(small), 0).wait();
  });
}

TEST_P(Messages, TakeNoPartInTheSequenceOfTheGroup) {
  as_each_rank(3, [](Communicator& group) {
    std::vector<float> data(10, 1.0F);
    if (group.rank() == 0) group.send(view_of(data), 1).wait();
    if (group.rank() == 1) group.receive(view_of(data), 0).wait();

    group.all_reduce(view_of(data), view_of(data), ReduceOp::sum).wait();

    EXPECT_EQ(data, std::vector<float>(10, 3.0F));
  });
}

TEST_P(Messages, ACountThatDiffersIsNamedOnBothRanks) {
  for (const std::size_t count : {std::size_t{0}, std::size_t{3}, std::size_t{300000}}) {
    as_each_rank(2, [count](Communicator& group) {
      std::vector<float> data(count + static_cast<std::size_t>(group.rank()));

      const std::string text = error_text(ErrorCode::invalid_argument, [&] {
        if (group.rank() == 1) group.receive(view_of(data), 0).wait();
        for (;;) group.send(view_of(data), 1).wait();
      });

      EXPECT_THAT(text, HasSubstr("rank 0 send_receive f32[" + std::to_string(count) +
                                  "], rank 1 send_receive f32[" + std::to_string(count + 1) + "]"));
    });
  }
}

TEST_P(Messages, ADtypeThatDiffersIsNamedOnBothRanks) {
  as_each_rank(2, [](Communicator& group) {
    std::vector<float> data(16);
    std::vector<float> other(16);
    TensorView view = view_of(data);
    TensorView mine = view_of(other);
    if (group.rank() == 0) view.dtype = mine.dtype = Dtype::i32;
    const int peer = 1 - group.rank();

    const std::string text = error_text(ErrorCode::invalid_argument, [&] {
      for (;;) group.send_receive(view, peer, mine, peer).wait();
    });

    EXPECT_THAT(text, AllOf(HasSubstr("i32[16]"), HasSubstr("f32[16]"), HasSubstr("rank 0"),
                            HasSubstr("rank 1")));
  });
}

TEST_P(Messages, WhoDoesNotSendOrReceiveIsNamedAtTheDeadline) {
  if (!GetParam().has_threads()) GTEST_SKIP() << "its ranks meet in memory of the test";
  std::latch have_waited(2);
  as_each_rank(3, [&](Communicator& group) {
    if (group.rank() == 2) return have_waited.wait();
    std::vector<float> data(16000000);  // more than sockets keep

    const std::string text = error_text(ErrorCode::timeout, [&] {
      const CallOptions options{.label = "block 3", .timeout_s = 0.2};
      if (group.rank() == 0) group.receive(view_of(data), 2, options).wait();
      if (group.rank() == 1) group.send(view_of(data), 2, options).wait();
    });

    EXPECT_THAT(text, AllOf(HasSubstr("send_receive f32[16000000]"), HasSubstr("block 3"),
                            HasSubstr("rank 2"), HasSubstr("0.2 s")));
    have_waited.count_down();
  });
}

TEST_P(Messages, ASenderThatLeavesIsNamedByWhoWaitsForIt) {
  as_each_rank(2, [](Communicator& group) {
    if (group.rank() == 0) return;
    std::vector<float> data(64);

    const std::string text =
        error_text(ErrorCode::peer_lost, [&] { group.receive(view_of(data), 0).wait(); });

    EXPECT_THAT(text, AllOf(HasSubstr("rank 0"), HasSubstr("left"), HasSubstr("send_receive")));
  });
}

TEST_P(Messages, AbortWakesWhoWaitsForAMessage) {
  as_each_rank(2, [](Communicator& group) {
    if (group.rank() == 0) return group.abort("the disk is full");
    std::vector<float> data(64);

    const std::string text =
        error_text(ErrorCode::peer_lost, [&] { group.receive(view_of(data), 0).wait(); });

    EXPECT_THAT(text, HasSubstr("the disk is full"));
  });
}

INSTANTIATE_TEST_SUITE_P(Backends, Messages, testing::ValuesIn(backends_of_many()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace muster::collectives
