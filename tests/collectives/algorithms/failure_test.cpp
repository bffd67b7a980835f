#include <chrono>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/base/error.hpp"
#include "tests/collectives/algorithms/lane_threads.hpp"
#include "tests/collectives/algorithms/rank_data.hpp"

/// Whatever goes wrong in the middle of an algorithm, every rank comes back and says why.
namespace muster::collectives::algorithms {
namespace {

using testing::Each;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr int kRanks = 5;
constexpr std::size_t kPieceBytes = 512;

class Failures : public testing::TestWithParam<std::size_t> {
 protected:
  const Algorithm& algorithm() const { return all_algorithms()[GetParam()]; }

  // Runs calls on all ranks until one fails there; gives the errors' texts.
  std::vector<std::string> errors(const LocalNetwork& network, double timeout_s,
                                  const std::function<void(RankLane&, int call)>& before) const {
    std::mutex mutex;
    std::vector<std::string> texts;
    as_each_rank(network, kRanks, kPieceBytes, [&](RankLane& self) {
      const Problem problem{.kind = algorithm().kind, .ranks = kRanks, .count = 2000};
      RankData data(problem, self.lane.rank());
      try {
        for (int call = 0; call < 100; ++call) {
          before(self, call);
          self.perform(algorithm(), data.call(), timeout_s);
        }
      } catch (const Error& error) {
        const std::scoped_lock lock(mutex);
        texts.emplace_back(error.what());
      }
    });
    return texts;
  }
};

TEST_P(Failures, ADeathAfterAnyNumberOfMessagesEndsAllRanks) {
  for (const std::int64_t messages : {0, 1, 2, 3, 5, 8, 13, 21}) {
    const LocalNetwork network("test", kRanks);
    network.kill_after(2, messages);

    const std::vector<std::string> texts =
        errors(network, 60.0, [](RankLane& /*self*/, int /*call*/) {});

    ASSERT_EQ(texts.size(), static_cast<std::size_t>(kRanks)) << "after " << messages;
    EXPECT_THAT(texts, Each(HasSubstr("rank 2 has ended")));
  }
}

TEST_P(Failures, AnAbortEndsAllRanksWithItsReason) {
  const LocalNetwork network("test", kRanks);

  const std::vector<std::string> texts = errors(network, 60.0, [](RankLane& self, int call) {
    if (self.lane.rank() == 3 && call == 2) self.fabric.abort("the disk is full");
  });

  ASSERT_EQ(texts.size(), static_cast<std::size_t>(kRanks));
  EXPECT_THAT(texts, Each(HasSubstr("rank 3 aborted the group: the disk is full")));
}

TEST_P(Failures, ALostMessageIsNoticed) {
  const LocalNetwork network("test", kRanks);
  for (int to = 0; to < kRanks; ++to) {
    if (to != 1) network.lose_next(1, to);
  }

  const std::vector<std::string> texts =
      errors(network, 0.3, [](RankLane& /*self*/, int /*call*/) {});

  ASSERT_THAT(texts, Not(IsEmpty()));
}

INSTANTIATE_TEST_SUITE_P(List, Failures, testing::Range(std::size_t{0}, all_algorithms().size()),
                         [](const auto& test) {
                           const Algorithm& algorithm = all_algorithms()[test.param];
                           return fmt::format("{}_{}", to_string(algorithm.kind), algorithm.name);
                         });

}  // namespace
}  // namespace muster::collectives::algorithms
