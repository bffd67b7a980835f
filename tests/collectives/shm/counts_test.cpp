#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "collectives/communicator.hpp"
#include "collectives/shm/shares.hpp"
#include "tests/collectives/rank_threads.hpp"
#include "tests/support/error_text.hpp"

/// Lists of counts: how they deal out a vector, and what is seen of lists that differ.
namespace muster::collectives {
namespace {

using testing::AllOf;
using testing::HasSubstr;

using ListOfCounts = std::vector<std::int64_t>;

class Counts : public testing::TestWithParam<BackendUnderTest> {};

TEST_P(Counts, ListsThatDifferAreAnErrorOnEveryRank) {
  RankThreads{.backend = GetParam(), .ranks = 3}.run([](Communicator& group) {
    const ListOfCounts counts = group.rank() == 1 ? ListOfCounts{5, 2, 3} : ListOfCounts{4, 2, 4};
    std::vector<float> in(10);
    std::vector<float> out(10);

    const std::string text = error_text(ErrorCode::invalid_argument, [&] {
      const std::int64_t mine = counts[static_cast<std::size_t>(group.rank())];
      group.all_gather_v(vector_view(in.data(), mine), vector_view(out.data(), 10), counts).wait();
    });

    EXPECT_THAT(text, AllOf(HasSubstr("rank 1"), HasSubstr("the counts ")));
    if (group.backend() == "shm" && group.rank() == 1) {
      EXPECT_THAT(text, HasSubstr("rank 0 has 4 elements itself, rank 1 expects 5 of it"));
    }
  });
}

TEST_P(Counts, APairThatDisagreesIsAnErrorOnEveryRank) {
  RankThreads{.backend = GetParam(), .ranks = 3}.run([](Communicator& group) {
    const ListOfCounts sent = {2, 2, group.rank() == 0 ? 9 : 2};
    const ListOfCounts wanted = {2, 2, 2};
    std::vector<float> in(13);
    std::vector<float> out(6);

    const auto call = [&] {
      group
          .all_to_all_v(vector_view(in.data(), 4 + sent[2]), vector_view(out.data(), 6), sent,
                        wanted)
          .wait();
    };
    if (group.rank() == 1 && group.backend() != "shm") {
      // Messages between two ranks are seen by these alone; the third learns that they have left.
      EXPECT_THAT(error_text(ErrorCode::peer_lost, call), HasSubstr("all_to_all_v"));
      return;
    }

    EXPECT_THAT(error_text(ErrorCode::invalid_argument, call),
                AllOf(HasSubstr("rank 0 sends 9 elements to rank 2, which expects 2"),
                      HasSubstr("lane 0"), HasSubstr("seq 0")));
  });
}

INSTANTIATE_TEST_SUITE_P(Backends, Counts, testing::ValuesIn(backends_of_many()),
                         [](const auto& test) { return test.param.name; });

TEST(Shares, OfAPieceGetSmallerAtTheirEnds) {
  const ListOfCounts counts = {3, 0, 7};
  ListOfCounts begins(3);
  const shm::Shares shares = shm::Shares::of(counts, begins);

  EXPECT_EQ(shares.largest(), 7);
  EXPECT_EQ(shares.share(2).begin, 3);
  EXPECT_EQ(shares.part(0, {2, 2}).begin, 2);
  EXPECT_EQ(shares.part(0, {2, 2}).count, 1);
  EXPECT_EQ(shares.part(1, {0, 2}).count, 0);
  EXPECT_EQ(shares.part(2, {6, 2}).begin, 9);
  EXPECT_EQ(shares.part(2, {6, 2}).count, 1);
  EXPECT_EQ(shares.part(0, {4, 2}).count, 0);
}

}  // namespace
}  // namespace muster::collectives
