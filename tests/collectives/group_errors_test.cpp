#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <iterator>
#include <latch>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "collectives/communicator.hpp"
#include "tests/collectives/rank_threads.hpp"
#include "tests/support/error_text.hpp"
#include "tests/support/float_view.hpp"

/// How a group fails, whatever its back end: on all ranks, in time, and saying why.
namespace muster::collectives {
namespace {

using test::view_of;
using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;

class GroupErrors : public testing::TestWithParam<BackendUnderTest> {
 protected:
  void as_each_rank(int ranks, const std::function<void(Communicator&)>& body) const {
    RankThreads{.backend = GetParam(), .ranks = ranks}.run(body);
  }
};

void all_reduce(Communicator& group, std::vector<float>& data, ReduceOp op = ReduceOp::sum) {
  group.all_reduce(view_of(data), view_of(data), op).wait();
}

TEST_P(GroupErrors, DifferentCallsAreNamedOnAllRanks) {
  for (const std::size_t n : {std::size_t{4}, std::size_t{64}, std::size_t{1} << 20}) {
    as_each_rank(3, [n](Communicator& group) {
      std::vector<float> data(n);
      all_reduce(group, data);

      const std::string text = error_text(ErrorCode::invalid_argument, [&] {
        if (group.rank() == 1) {
          group.broadcast(view_of(data), 0).wait();
        } else {
          all_reduce(group, data);
        }
      });

      // Rank 1 differs from both others: any of the two may have met it first.
      EXPECT_THAT(text,
                  AnyOf(HasSubstr(fmt::format(
                            "seq 1: rank 0 all_reduce f32[{0}], rank 1 broadcast f32[{0}]", n)),
                        HasSubstr(fmt::format(
                            "seq 1: rank 1 broadcast f32[{0}], rank 2 all_reduce f32[{0}]", n))));
      EXPECT_THAT(text, HasSubstr("group test, lane 0"));
    });
  }
}

TEST_P(GroupErrors, DifferentCountsAreNamedOnAllRanks) {
  as_each_rank(2, [](Communicator& group) {
    std::vector<float> data(group.rank() == 0 ? 2 : 100000);

    const std::string text =
        error_text(ErrorCode::invalid_argument, [&] { all_reduce(group, data); });

    EXPECT_THAT(text, HasSubstr("seq 0: rank 0 all_reduce f32[2], rank 1 all_reduce f32[100000]"));
  });
}

TEST_P(GroupErrors, DifferentDtypesAreNamedOnAllRanks) {
  as_each_rank(2, [](Communicator& group) {
    std::vector<float> data(16);
    TensorView view = view_of(data);
    if (group.rank() == 1) view.dtype = Dtype::i32;

    const std::string text = error_text(
        ErrorCode::invalid_argument, [&] { group.all_reduce(view, view, ReduceOp::sum).wait(); });

    EXPECT_THAT(text, HasSubstr("seq 0: rank 0 all_reduce f32[16], rank 1 all_reduce i32[16]"));
  });
}

TEST_P(GroupErrors, DifferentOpsAreNamedOnAllRanks) {
  as_each_rank(2, [](Communicator& group) {
    std::vector<float> data(5000);

    const std::string text = error_text(ErrorCode::invalid_argument, [&] {
      all_reduce(group, data, group.rank() == 0 ? ReduceOp::sum : ReduceOp::max);
    });

    EXPECT_THAT(text,
                HasSubstr("rank 0 all_reduce f32[5000] sum, rank 1 all_reduce f32[5000] max"));
  });
}

// A root that waits for nobody learns it in its next call.
TEST_P(GroupErrors, DifferentRootsAreNamedOnAllRanks) {
  for (const std::size_t n : {std::size_t{8}, std::size_t{1000}, std::size_t{100000}}) {
    as_each_rank(2, [n](Communicator& group) {
      std::vector<float> data(n);

      const std::string text = error_text(ErrorCode::invalid_argument, [&] {
        group.broadcast(view_of(data), group.rank()).wait();
        group.barrier();
      });

      EXPECT_THAT(text,
                  HasSubstr(fmt::format(
                      "rank 0 broadcast f32[{0}] root 0, rank 1 broadcast f32[{0}] root 1", n)));
    });
  }
}

TEST_P(GroupErrors, RootsThatDifferForManyCallsAreNamedOnAllRanks) {
  as_each_rank(3, [](Communicator& group) {
    std::vector<float> data(8);

    const std::string text = error_text(ErrorCode::invalid_argument, [&] {
      for (int call = 0; call < 100; ++call) {
        group.broadcast(view_of(data), group.rank() == 2 ? 2 : 0).wait();
      }
    });

    EXPECT_THAT(text, HasSubstr("broadcast f32[8] root 0, rank 2 broadcast f32[8] root 2"));
  });
}

TEST_P(GroupErrors, ACallThatDiffersAmongBroadcastsIsNamedOnAllRanks) {
  as_each_rank(3, [](Communicator& group) {
    std::vector<float> data(8);

    const std::string text = error_text(ErrorCode::invalid_argument, [&] {
      for (std::size_t call = 0; call < 100; ++call) {
        const bool differs = call == 20 && group.rank() == 2;
        group.broadcast(vector_view(data.data(), differs ? 7 : 8), 0).wait();
      }
      group.barrier();
    });

    EXPECT_THAT(text, HasSubstr("seq 20: rank 0 broadcast f32[8], rank 2 broadcast f32[7]"));
  });
}

TEST_P(GroupErrors, ARootIsNotFarAheadOfOthers) {
  as_each_rank(3, [](Communicator& group) {
    std::vector<std::int64_t> data(1000);
    for (std::int64_t call = 0; call < 300; ++call) {
      const int root = static_cast<int>(call / 50 % 3);
      if (group.rank() != root && call % 40 == 0) {
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
      }
      std::fill(data.begin(), data.end(), group.rank() == root ? call : -1);
      group.broadcast(vector_view(data.data(), std::ssize(data)), root).wait();
      ASSERT_THAT(data, testing::Each(call));
      if (call % 70 == 69) group.barrier();
    }
  });
}

TEST_P(GroupErrors, CountsBetweenTwoRanksThatDifferAreNamedOnBoth) {
  as_each_rank(2, [](Communicator& group) {
    std::vector<float> in(100);
    std::vector<float> out(100);
    const bool is_first = group.rank() == 0;
    const std::vector<std::int64_t> in_counts =
        is_first ? std::vector<std::int64_t>{1, 41} : std::vector<std::int64_t>{3, 2};
    const std::vector<std::int64_t> out_counts =
        is_first ? std::vector<std::int64_t>{1, 3} : std::vector<std::int64_t>{43, 2};

    const std::string text = error_text(ErrorCode::invalid_argument, [&] {
      group
          .all_to_all_v(vector_view(in.data(), in_counts[0] + in_counts[1]),
                        vector_view(out.data(), out_counts[0] + out_counts[1]), in_counts,
                        out_counts)
          .wait();
    });

    EXPECT_THAT(text, AllOf(HasSubstr("rank 0"), HasSubstr("rank 1"), HasSubstr("41"),
                            HasSubstr("43"), HasSubstr("all_to_all_v")));
  });
}

TEST_P(GroupErrors, ASkippedCallIsNoticedAtTheNext) {
  as_each_rank(2, [](Communicator& group) {
    std::vector<float> none;
    std::vector<float> data(8);
    if (group.rank() == 0) all_reduce(group, none);

    const std::string text =
        error_text(ErrorCode::invalid_argument, [&] { all_reduce(group, data); });

    EXPECT_THAT(text, HasSubstr("rank 0 seq 1 all_reduce f32[8], rank 1 seq 0 all_reduce f32[8]"));
  });
}

TEST_P(GroupErrors, AfterAMismatchEveryCallThrowsIt) {
  as_each_rank(2, [](Communicator& group) {
    std::vector<float> data(group.rank() == 0 ? 8 : 9);
    const std::string first =
        error_text(ErrorCode::invalid_argument, [&] { all_reduce(group, data); });

    const std::string again = error_text(ErrorCode::invalid_argument, [&] { group.barrier(); });

    EXPECT_EQ(first, again);
  });
}

TEST_P(GroupErrors, ZeroElementsKeepTheSequenceInStep) {
  as_each_rank(2, [](Communicator& group) {
    std::vector<float> none;
    std::vector<float> data = {1.0F, 2.0F};
    for (int i = 0; i < 7; ++i) {
      all_reduce(group, none);
      group.all_gather(view_of(none), view_of(none)).wait();
      group.broadcast(view_of(none), 0).wait();
      all_reduce(group, data);
    }

    EXPECT_EQ(data, (std::vector<float>{128.0F, 256.0F}));
  });
}

TEST_P(GroupErrors, ARankThatDoesNotComeIsNamedAtTheDeadline) {
  if (!GetParam().has_threads()) GTEST_SKIP() << "its ranks meet in memory of the test";
  std::latch have_waited(2);
  as_each_rank(3, [&](Communicator& group) {
    if (group.rank() == 1) {
      have_waited.wait();
      return;
    }
    std::vector<float> data(64);
    const CallOptions options{.label = "gradients of block 3", .timeout_s = 0.2};

    const std::string text = error_text(ErrorCode::timeout, [&] {
      group.all_reduce(view_of(data), view_of(data), ReduceOp::sum, options).wait();
    });

    have_waited.count_down();
    EXPECT_THAT(text, AllOf(HasSubstr("all_reduce f32[64] \"gradients of block 3\""),
                            HasSubstr("limit 0.2 s"), HasSubstr("not there yet: rank 1;")));
  });
}

TEST_P(GroupErrors, ARankThatIsBusyElsewhereIsWaitedForWhileItSaysSo) {
  as_each_rank(3, [](Communicator& group) {
    for (int beat = 0; group.rank() == 1 && beat < 50; ++beat) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      group.heartbeat();
    }
    std::vector<float> data = {1.0F};
    const CallOptions options{.timeout_s = 0.6};

    group.all_reduce(view_of(data), view_of(data), ReduceOp::sum, options).wait();

    EXPECT_EQ(data[0], 3.0F);
  });
}

TEST_P(GroupErrors, AbortWakesAllWhoWaitWithItsReason) {
  if (!GetParam().has_threads()) GTEST_SKIP() << "its ranks meet in memory of the test";
  using Clock = std::chrono::steady_clock;
  std::atomic<Clock::rep> aborted_at{0};
  as_each_rank(3, [&](Communicator& group) {
    if (group.rank() == 2) {
      std::this_thread::sleep_for(std::chrono::milliseconds(150));
      aborted_at = Clock::now().time_since_epoch().count();
      group.abort("the disk is full");
      return;
    }
    std::vector<float> data(64);

    const std::string text = error_text(ErrorCode::peer_lost, [&] { all_reduce(group, data); });

    const Clock::duration taken = Clock::now().time_since_epoch() - Clock::duration(aborted_at);
    EXPECT_THAT(text, AllOf(HasSubstr("rank 2"), HasSubstr("the disk is full"),
                            HasSubstr("all_reduce f32[64]")));
    EXPECT_LT(taken, std::chrono::seconds(2));
  });
}

TEST_P(GroupErrors, AbortIsSeenByCallsThatComeLater) {
  as_each_rank(2, [&](Communicator& group) {
    if (group.rank() == 0) group.abort("not needed any more");
    std::vector<float> data(64);

    const std::string text = error_text(ErrorCode::peer_lost, [&] {
      for (;;) all_reduce(group, data);
    });

    EXPECT_THAT(text, HasSubstr("not needed any more"));
  });
}

TEST_P(GroupErrors, ARankThatLeavesIsNamedByThoseWhoWaitForIt) {
  as_each_rank(2, [](Communicator& group) {
    if (group.rank() == 0) return;
    std::vector<float> data(64);

    const std::string text = error_text(ErrorCode::peer_lost, [&] { all_reduce(group, data); });

    EXPECT_THAT(text, AllOf(HasSubstr("rank 0"), HasSubstr("left"), HasSubstr("all_reduce")));
  });
}

INSTANTIATE_TEST_SUITE_P(Backends, GroupErrors, testing::ValuesIn(backends_of_many()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace muster::collectives
