#include "collectives/transport/transport_communicator.hpp"

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/collectives/rank_threads.hpp"
#include "tests/support/error_text.hpp"
#include "tests/support/local_fabric.hpp"

/// What is this communicator's own; that it keeps the contract of all is the conformance suite's.
namespace muster::collectives {
namespace {

using testing::HasSubstr;

struct Group {
  int ranks = 2;
  AlgorithmTable algorithms = {};
};

void as_each_rank(const Group& group, const LocalNetwork& network,
                  const std::function<void(Communicator&)>& body) {
  const BackendUnderTest backend{.name = "fabric",
                                 .make_group = [&](int ranks, int /*cores_per_rank*/) -> MakeRank {
                                   return [&, ranks](int rank, kernels::Device& device) {
                                     GroupSpec spec;
                                     spec.name = "test";
                                     spec.rank = rank;
                                     spec.size = ranks;
                                     return std::make_unique<TransportCommunicator>(
                                         spec, network.open(rank), device, group.algorithms);
                                   };
                                 }};
  RankThreads{.backend = backend, .ranks = group.ranks}.run(body);
}

TEST(TransportCommunicator, DoesEachCallByTheTablesAlgorithm) {
  Group group{.ranks = 4};
  group.algorithms.use("all_reduce=tree");
  const LocalNetwork network("test", 4);

  as_each_rank(group, network, [](Communicator& ranks) {
    std::vector<float> data(8, 1.0F);
    const TensorView view = vector_view(data.data(), 8);
    ranks.all_reduce(view, view, ReduceOp::sum).wait();
    EXPECT_EQ(data, std::vector<float>(8, 4.0F));
  });

  // Rank 3 is a leaf below rank 2: its vector goes up, no more.
  EXPECT_EQ(network.sent_by(3), (Traffic{1, 32}));
}

TEST(TransportCommunicator, ChoosesByTheWholeVectorWhereARankHoldsAShare) {
  // Ranks hold between 1/8 of the vector and all of it, which lies beyond the crossover while a
  // share does not: if they chose by what they hold they would wait for each other.
  const Group group{.ranks = 8};
  const LocalNetwork network("test", 8);

  as_each_rank(group, network, [](Communicator& ranks) {
    constexpr std::int64_t kShare = 100'000;
    const std::int64_t whole = ranks.rank() == 0 ? kShare * 8 : 0;
    std::vector<float> all(static_cast<std::size_t>(whole));
    std::vector<float> share(kShare, static_cast<float>(ranks.rank()));
    ranks.gather(vector_view(share.data(), kShare), vector_view(all.data(), whole), 0).wait();
    std::vector<float> again(kShare);
    ranks.scatter(vector_view(all.data(), whole), vector_view(again.data(), kShare), 0).wait();
    EXPECT_EQ(again, share);
  });
}

TEST(TransportCommunicator, NamesBothRanksWhoseCountsDisagree) {
  const LocalNetwork network("test", 3);

  as_each_rank({.ranks = 3}, network, [](Communicator& ranks) {
    std::array<std::int64_t, 3> out = {2, 2, 2};
    const std::array<std::int64_t, 3> in = {2, 2, 2};
    if (ranks.rank() == 0) out[2] = 5;
    std::vector<float> sent(9);
    std::vector<float> received(6);
    const auto call = [&] {
      ranks
          .all_to_all_v(vector_view(sent.data(), out[0] + out[1] + out[2]),
                        vector_view(received.data(), 6), out, in)
          .wait();
    };
    if (ranks.rank() == 1) {
      EXPECT_THAT(error_text(ErrorCode::peer_lost, call), HasSubstr("has left the group"));
      return;
    }
    EXPECT_THAT(error_text(ErrorCode::invalid_argument, call),
                HasSubstr("rank 0 sends 5 elements to rank 2, which expects 2"));
  });
}

TEST(TransportCommunicator, NamesTheCountsOfAMessageOnBothRanks) {
  const LocalNetwork network("test", 2);

  as_each_rank({}, network, [](Communicator& ranks) {
    std::vector<float> data(8);
    const std::string text = error_text(ErrorCode::invalid_argument, [&] {
      if (ranks.rank() == 0) ranks.send(vector_view(data.data(), 8), 1).wait();
      if (ranks.rank() == 1) ranks.receive(vector_view(data.data(), 6), 0).wait();
    });
    EXPECT_THAT(text, HasSubstr("rank 0 send_receive f32[8], rank 1 send_receive f32[6]"));
  });
}

TEST(TransportCommunicator, ExchangesMessagesOfDifferentCounts) {
  const LocalNetwork network("test", 2);

  as_each_rank({}, network, [](Communicator& ranks) {
    std::vector<float> sent(8, static_cast<float>(ranks.rank()));
    std::vector<float> received(8, -1.0F);
    const int other = 1 - ranks.rank();
    const std::int64_t n = ranks.rank() == 0 ? 3 : 0;
    ranks
        .send_receive(vector_view(sent.data(), n), other, vector_view(received.data(), 3 - n),
                      other)
        .wait();
    EXPECT_EQ(received[0], ranks.rank() == 0 ? -1.0F : 0.0F);
  });

  EXPECT_EQ(network.sent_by(0), (Traffic{1, 12}));
  EXPECT_EQ(network.sent_by(1), (Traffic{1, 0}));
}

TEST(TransportCommunicator, RemembersAFailure) {
  const LocalNetwork network("test", 2);
  network.kill_after(1, 0);

  as_each_rank({}, network, [](Communicator& ranks) {
    const auto meet = [&] { ranks.barrier(); };
    const std::string first = error_text(ErrorCode::peer_lost, meet);
    EXPECT_EQ(error_text(ErrorCode::peer_lost, meet), first);
    EXPECT_THAT(first, HasSubstr("rank 1 has ended"));
  });
}

}  // namespace
}  // namespace muster::collectives
