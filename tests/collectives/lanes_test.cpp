#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "collectives/communicator.hpp"
#include "tests/collectives/exact_data.hpp"
#include "tests/collectives/rank_threads.hpp"
#include "tests/support/error_text.hpp"

/// Lanes: calls of one lane keep their order, lanes do not wait for each other.
namespace muster::collectives {
namespace {

using testing::HasSubstr;

class Lanes : public testing::TestWithParam<BackendUnderTest> {
 protected:
  // With cores enough, so that lanes above 0 have threads of their own.
  void as_each_rank(int ranks, const std::function<void(Communicator&)>& body) const {
    RankThreads{.backend = GetParam(), .ranks = ranks, .cores_per_rank = 2}.run(body);
  }
  int most_ranks() const { return std::clamp(2, GetParam().least_ranks, GetParam().most_ranks); }
};

TEST_P(Lanes, QueuedCallsGiveTheirResultsInOrder) {
  as_each_rank(most_ranks(), [](Communicator& group) {
    constexpr int kCalls = 50;
    constexpr std::int64_t kCount = 3001;
    std::vector<std::vector<float>> data(kCalls, std::vector<float>(kCount));
    std::vector<Pending> pending;
    for (std::size_t call = 0; call < kCalls; ++call) {
      std::fill(data[call].begin(), data[call].end(), static_cast<float>(call));
      const TensorView view = vector_view(data[call].data(), kCount);
      pending.push_back(group.all_reduce(view, view, ReduceOp::sum, {.lane = 1}));
    }

    for (std::size_t call = kCalls; call-- > 0;) pending[call].wait();

    for (std::size_t call = 0; call < kCalls; ++call) {
      const auto sum = static_cast<float>(call) * static_cast<float>(group.size());
      EXPECT_EQ(data[call], std::vector<float>(kCount, sum));
    }
  });
}

TEST_P(Lanes, RanksMayUseLanesInDifferentOrder) {
  as_each_rank(most_ranks(), [](Communicator& group) {
    std::vector<float> a(70000, 1.0F);
    std::vector<float> b(70000, 2.0F);
    const TensorView view_a = vector_view(a.data(), 70000);
    const TensorView view_b = vector_view(b.data(), 70000);
    const bool is_first = group.rank() == 0;
    for (int round = 0; round < 20; ++round) {
      Pending one = group.all_reduce(is_first ? view_a : view_b, is_first ? view_a : view_b,
                                     ReduceOp::max, {.lane = is_first ? 1 : 2});
      Pending two = group.all_reduce(is_first ? view_b : view_a, is_first ? view_b : view_a,
                                     ReduceOp::max, {.lane = is_first ? 2 : 1});
      group.barrier();
      one.wait();
      two.wait();
    }

    EXPECT_EQ(a, std::vector<float>(70000, 1.0F));
    EXPECT_EQ(b, std::vector<float>(70000, 2.0F));
  });
}

TEST_P(Lanes, ADroppedHandleIsWaitedFor) {
  as_each_rank(most_ranks(), [](Communicator& group) {
    std::vector<double> data(200000, 1.0);
    const TensorView view = vector_view(data.data(), 200000);

    { const Pending dropped = group.all_reduce(view, view, ReduceOp::sum, {.lane = 3}); }

    EXPECT_EQ(data, std::vector<double>(200000, group.size()));
  });
}

TEST_P(Lanes, AHandleThatIsReplacedIsWaitedFor) {
  as_each_rank(most_ranks(), [](Communicator& group) {
    std::vector<double> data(200000, 1.0);
    const TensorView view = vector_view(data.data(), 200000);

    Pending pending = group.all_reduce(view, view, ReduceOp::sum, {.lane = 1});
    pending = Pending();

    EXPECT_TRUE(pending.is_done());
    EXPECT_EQ(data, std::vector<double>(200000, group.size()));
  });
}

class LanesOfMany : public Lanes {};

TEST_P(LanesOfMany, AnErrorComesOutOfTheHandle) {
  as_each_rank(2, [](Communicator& group) {
    std::vector<float> data(group.rank() == 0 ? 64 : 65);
    const TensorView view = vector_view(data.data(), static_cast<std::int64_t>(data.size()));
    Pending pending = group.all_reduce(view, view, ReduceOp::sum, {.lane = 2});

    const std::string text = error_text(ErrorCode::invalid_argument, [&] { pending.wait(); });

    EXPECT_THAT(text, HasSubstr("group test, lane 2"));
    EXPECT_THAT(text, HasSubstr("rank 0 all_reduce f32[64], rank 1 all_reduce f32[65]"));
  });
}

INSTANTIATE_TEST_SUITE_P(Backends, Lanes, testing::ValuesIn(all_backends()),
                         [](const auto& test) { return test.param.name; });
INSTANTIATE_TEST_SUITE_P(Backends, LanesOfMany, testing::ValuesIn(backends_of_many()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace muster::collectives
