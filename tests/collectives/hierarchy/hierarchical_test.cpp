#include <cstring>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "collectives/communicator.hpp"
#include "tests/collectives/rank_threads.hpp"
#include "tests/support/error_text.hpp"
#include "tests/support/float_view.hpp"

/// What the conformance suite does not ask of the hierarchical back end: sums that are not exact,
/// and how its failures spread from one of its groups to all ranks.
namespace muster::collectives {
namespace {

using test::view_of;
using testing::AllOf;
using testing::HasSubstr;

std::vector<BackendUnderTest> hierarchical_backends() {
  std::vector<BackendUnderTest> backends = all_backends();
  std::erase_if(backends,
                [](const auto& backend) { return !backend.name.starts_with("hierarchical"); });
  return backends;
}

class Hierarchical : public testing::TestWithParam<BackendUnderTest> {
 protected:
  static void as_each_rank(int ranks, const std::function<void(Communicator&)>& body) {
    RankThreads{.backend = GetParam(), .ranks = ranks}.run(body);
  }
};

// On both sides of the size from which every rank carries a part of its own.
TEST_P(Hierarchical, SumsThatAreRoundedHaveTheSameBitsOnAllRanks) {
  for (const std::size_t count : {std::size_t{1001}, std::size_t{50021}}) {
    std::mutex mutex;
    std::vector<std::vector<float>> results;
    as_each_rank(4, [&](Communicator& group) {
      std::vector<float> data(count);
      for (std::size_t i = 0; i < count; ++i) {
        data[i] = 1.0F / static_cast<float>(i * 7 + static_cast<std::size_t>(group.rank()) + 1);
      }
      group.all_reduce(view_of(data), view_of(data), ReduceOp::sum).wait();
      const std::lock_guard lock(mutex);
      results.push_back(std::move(data));
    });

    ASSERT_EQ(results.size(), 4U);
    for (const std::vector<float>& result : results) {
      EXPECT_EQ(std::memcmp(result.data(), results[0].data(), count * sizeof(float)), 0);
    }
  }
}

// Of the group itself, whichever step of whichever inner group the ranks met in.
TEST_P(Hierarchical, AMismatchReachesAllRanksWithBothCalls) {
  for (int different = 0; different < 4; ++different) {
    as_each_rank(4, [different](Communicator& group) {
      group.barrier();  // all have made the group
      const bool differs = group.rank() == different;
      std::vector<float> data(differs ? 65 : 64);

      const std::string text = error_text(ErrorCode::invalid_argument, [&] {
        group.all_reduce(view_of(data), view_of(data), ReduceOp::sum, {.timeout_s = 20.0}).wait();
      });

      EXPECT_THAT(text, AllOf(HasSubstr("seq 1: "), HasSubstr("all_reduce f32[64]"),
                              HasSubstr(fmt::format("rank {} all_reduce f32[65]", different)),
                              HasSubstr("(group test, lane 0)")));
    });
  }
}

TEST_P(Hierarchical, AnotherCallReachesAllRanksWithBothCalls) {
  for (const std::size_t count : {std::size_t{64}, std::size_t{50021}}) {
    for (int different = 0; different < 4; ++different) {
      as_each_rank(4, [&](Communicator& group) {
        std::vector<float> data(count);

        const std::string text = error_text(ErrorCode::invalid_argument, [&] {
          if (group.rank() == different) {
            group.all_reduce(view_of(data), view_of(data), ReduceOp::sum, {.timeout_s = 20.0})
                .wait();
          } else {
            group.broadcast(view_of(data), 0, {.timeout_s = 20.0}).wait();
          }
          group.barrier({.timeout_s = 20.0});  // a root may have gone on
        });

        EXPECT_THAT(text,
                    AllOf(HasSubstr(fmt::format("broadcast f32[{}]", count)),
                          HasSubstr(fmt::format("rank {} all_reduce f32[{}]", different, count)),
                          HasSubstr("(group test, lane 0)")));
      });
    }
  }
}

TEST_P(Hierarchical, AbortWakesAllWhoWaitWithItsReason) {
  as_each_rank(4, [](Communicator& group) {
    group.barrier();  // all have made the group
    if (group.rank() == 3) return group.abort("the disk is full");
    std::vector<float> data(64);

    const std::string text = error_text(ErrorCode::peer_lost, [&] {
      group.all_reduce(view_of(data), view_of(data), ReduceOp::sum, {.timeout_s = 20.0}).wait();
    });

    EXPECT_THAT(text, HasSubstr("the disk is full"));
  });
}

TEST_P(Hierarchical, ARankThatLeavesEndsTheCallsOfAllOthers) {
  for (int leaver = 0; leaver < 4; ++leaver) {
    as_each_rank(4, [leaver](Communicator& group) {
      group.barrier();
      if (group.rank() == leaver) return;
      std::vector<float> data(64);

      const std::string text = error_text(ErrorCode::peer_lost, [&] {
        group.all_reduce(view_of(data), view_of(data), ReduceOp::sum, {.timeout_s = 20.0}).wait();
      });

      EXPECT_THAT(text, HasSubstr("left")) << leaver;
    });
  }
}

TEST_P(Hierarchical, AfterAFailureEveryCallThrowsIt) {
  as_each_rank(4, [](Communicator& group) {
    group.barrier();
    if (group.rank() == 0) group.abort("not needed any more");
    std::vector<float> data(64);
    const auto all_reduce = [&] {
      for (;;) group.all_reduce(view_of(data), view_of(data), ReduceOp::sum).wait();
    };

    const std::string first = error_text(ErrorCode::peer_lost, all_reduce);
    const std::string again = error_text(ErrorCode::peer_lost, [&] { group.barrier(); });

    EXPECT_EQ(first, again);
  });
}

INSTANTIATE_TEST_SUITE_P(Layouts, Hierarchical, testing::ValuesIn(hierarchical_backends()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace muster::collectives
