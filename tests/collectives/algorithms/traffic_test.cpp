#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/collectives/algorithms/lane_threads.hpp"
#include "tests/collectives/algorithms/rank_data.hpp"

/// How many messages and bytes a rank sends, against the formulas at the algorithms' declarations.
namespace muster::collectives::algorithms {
namespace {

struct Expected {
  CallKind kind;
  std::string_view name;
  int ranks;
  int rank;          // whose traffic it is
  Traffic of_share;  // messages, and bytes in shares of S / ranks
};

// f32, one piece, root 0. Shares of S: of the whole vector.
constexpr Expected kExpected[] = {
    {CallKind::barrier, "dissemination", 5, 2, {3, 0}},
    {CallKind::barrier, "dissemination", 8, 7, {3, 0}},
    {CallKind::all_reduce, "direct", 4, 1, {3, 3 * 4}},
    {CallKind::all_reduce, "bruck", 6, 5, {3, 5 * 6}},
    {CallKind::all_reduce, "bruck", 8, 5, {3, 7 * 8}},
    {CallKind::all_reduce, "pairwise", 2, 0, {2, 2}},
    {CallKind::all_reduce, "pairwise", 5, 3, {8, 8}},
    {CallKind::all_reduce, "ring", 5, 3, {8, 8}},
    {CallKind::all_reduce, "recursive_doubling", 8, 3, {3, 3 * 8}},
    {CallKind::all_reduce, "recursive_doubling", 6, 0, {3, 3 * 6}},  // it speaks for rank 1
    {CallKind::all_reduce, "recursive_doubling", 6, 1, {1, 6}},
    {CallKind::all_reduce, "recursive_doubling", 6, 5, {2, 2 * 6}},
    {CallKind::all_reduce, "halving_doubling", 8, 3, {6, 2 * 7}},
    {CallKind::all_reduce, "halving_doubling", 4, 0, {4, 2 * 3}},
    {CallKind::all_reduce, "halving_doubling", 3, 1, {1, 3}},
    {CallKind::all_reduce, "tree", 4, 3, {1, 4}},
    {CallKind::reduce_scatter, "pairwise", 7, 2, {6, 6}},
    {CallKind::reduce_scatter, "ring", 7, 2, {6, 6}},
    {CallKind::reduce, "direct", 5, 2, {1, 5}},
    {CallKind::reduce, "direct", 5, 0, {4, 0}},
    {CallKind::reduce, "pairwise", 5, 2, {5, 5}},
    {CallKind::reduce, "tree", 8, 7, {1, 8}},
    {CallKind::broadcast, "binomial", 8, 0, {3, 3 * 8}},
    {CallKind::broadcast, "binomial", 8, 4, {2, 2 * 8}},
    {CallKind::broadcast, "chain", 4, 1, {2, 4}},
    {CallKind::broadcast, "scatter_all_gather", 8, 0, {3 + 7, 4 + 2 + 1 + 7}},
    {CallKind::all_gather, "ring", 5, 1, {4, 4}},
    {CallKind::all_gather, "pairwise", 5, 1, {4, 4}},
    {CallKind::all_gather, "bruck", 5, 1, {3, 4}},
    {CallKind::all_gather, "bruck", 8, 1, {3, 7}},
    {CallKind::gather, "direct", 5, 3, {1, 1}},
    {CallKind::gather, "binomial", 8, 4, {3, 4}},  // two empty ones
    {CallKind::scatter, "direct", 5, 0, {4, 4}},
    {CallKind::scatter, "binomial", 8, 0, {3, 7}},
    {CallKind::all_to_all, "pairwise", 6, 4, {5, 5}},
    {CallKind::all_to_all, "bruck", 8, 4, {3, 3 * 4}},
    {CallKind::all_to_all, "bruck", 6, 4, {3, 3 + 2 + 2}},  // numbers 1 3 5, 2 3 and 4 5
};

class TrafficOf : public testing::TestWithParam<Expected> {};

TEST_P(TrafficOf, ARankIsThatOfItsFormula) {
  constexpr std::int64_t kShare = 8;
  const Expected& expected = GetParam();
  const Problem problem{
      .kind = expected.kind, .ranks = expected.ranks, .count = kShare * expected.ranks};
  const LocalNetwork network("test", expected.ranks);

  as_each_rank(network, expected.ranks, Lane::kPieceBytes, [&](RankLane& self) {
    RankData data(problem, self.lane.rank());
    self.perform(algorithm_of(expected.kind, expected.name), data.call());
  });

  const Traffic traffic = network.sent_by(expected.rank);
  EXPECT_EQ(traffic.messages, expected.of_share.messages);
  EXPECT_EQ(traffic.bytes, expected.of_share.bytes * kShare * 4);
}

INSTANTIATE_TEST_SUITE_P(Formulas, TrafficOf, testing::ValuesIn(kExpected), [](const auto& test) {
  return fmt::format("{}_{}_{}_{}", to_string(test.param.kind), test.param.name, test.param.ranks,
                     test.param.rank);
});

TEST(Traffic16Bit, TravelsWideOnlyWhereSumsAreOnTheWay) {
  const auto bytes_of = [](std::string_view name) {
    const Problem problem{.ranks = 4, .count = 64, .dtype = Dtype::bf16};
    const LocalNetwork network("test", 4);
    as_each_rank(network, 4, Lane::kPieceBytes, [&](RankLane& self) {
      RankData data(problem, self.lane.rank());
      self.perform(algorithm_of(CallKind::all_reduce, name), data.call());
    });
    return network.sent_by(0).bytes;
  };

  EXPECT_EQ(bytes_of("direct"), 3 * 64 * 2);
  EXPECT_EQ(bytes_of("pairwise"), 2 * 48 * 2);
  EXPECT_EQ(bytes_of("ring"), 48 * 4 + 48 * 2);
  EXPECT_EQ(bytes_of("halving_doubling"), 48 * 4 + 48 * 2);
  EXPECT_EQ(bytes_of("recursive_doubling"), 2 * 64 * 4);
}

TEST(SmallBroadcasts, AreAnsweredNowAndThen) {
  const auto answers = [](std::int64_t count) {
    const Problem problem{.kind = CallKind::broadcast, .ranks = 2, .count = count};
    const LocalNetwork network("test", 2);
    as_each_rank(network, 2, Lane::kPieceBytes, [&](RankLane& self) {
      RankData data(problem, self.lane.rank());
      for (std::uint64_t call = 0; call < 3 * Transport::kMaxLead; ++call) {
        self.perform(algorithm_of(CallKind::broadcast, "binomial"), data.call());
      }
    });
    return network.sent_by(1).messages;
  };

  EXPECT_EQ(answers(2048), 3);
  EXPECT_EQ(answers(2049), 3 * Transport::kMaxLead);
}

}  // namespace
}  // namespace muster::collectives::algorithms
