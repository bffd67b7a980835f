#include <array>
#include <atomic>
#include <latch>
#include <string>
#include <vector>

#include "collectives/tcp/tcp_transport.hpp"
#include "tests/collectives/tcp/tcp_ranks.hpp"
#include "tests/support/error_text.hpp"

namespace muster::collectives::tcp {
namespace {

struct Connections {
  int sockets;
  bool encrypts;
};

class TcpTransportTest : public testing::TestWithParam<Connections> {
 protected:
  TcpOptions options() const {
    return {.sockets = GetParam().sockets, .encrypts = GetParam().encrypts};
  }
};

INSTANTIATE_TEST_SUITE_P(Sockets, TcpTransportTest,
                         testing::Values(Connections{1, false}, Connections{2, false},
                                         Connections{8, false}, Connections{1, true},
                                         Connections{8, true}),
                         [](const auto& test) {
                           return std::to_string(test.param.sockets) +
                                  (test.param.encrypts ? "Encrypted" : "Plain");
                         });

TEST_P(TcpTransportTest, MovesMessagesOfEverySizeBothWays) {
  constexpr std::array<std::size_t, 9> kSizes = {0,     1,      47,        48,     49,
                                                 65537, 262144, 1'000'003, 5 << 20};
  run_lanes(2, options(), [&](Transport& lane) {
    const int peer = 1 - lane.rank();
    for (std::size_t i = 0; i < kSizes.size(); ++i) {
      const auto number = static_cast<int>(i);
      const std::string mine = message(kSizes[i], lane.rank(), number);
      std::string theirs(kSizes[i], '\0');
      begin(lane, call_of(number));

      lane.send(peer, bytes_of(mine));
      lane.wait(lane.receive(peer, room_in(theirs)));
      lane.wait_all();

      EXPECT_TRUE(theirs == message(kSizes[i], peer, number)) << kSizes[i] << " bytes";
    }
  });
}

TEST_P(TcpTransportTest, MatchesMessagesInTheOrderOfPosting) {
  constexpr int kMessages = 60;
  run_lanes(2, options(), [&](Transport& lane) {
    begin(lane, call_of(1));
    std::vector<std::string> texts;
    texts.reserve(kMessages);
    for (int i = 0; i < kMessages; ++i) {
      const std::size_t bytes = static_cast<std::size_t>(i % 7) * 60'001;
      texts.push_back(lane.rank() == 0 ? message(bytes, 0, i) : std::string(bytes, '\0'));
    }
    std::vector<Transport::Ticket> tickets;
    for (std::string& text : texts) {
      tickets.push_back(lane.rank() == 0 ? lane.send(1, bytes_of(text))
                                         : lane.receive(0, room_in(text)));
    }
    // The last one's turn comes after all others.
    lane.wait(tickets.back());
    lane.wait(tickets.front());
    lane.wait_all();

    for (int i = 0; i < kMessages; ++i) {
      const std::string& text = texts[static_cast<std::size_t>(i)];
      EXPECT_TRUE(text == message(text.size(), 0, i)) << "message " << i;
    }
  });
}

TEST_P(TcpTransportTest, ExchangesAmongAllRanksAtOnce) {
  constexpr int kRanks = 4;
  constexpr std::size_t kBytes = 1'500'001;
  run_lanes(kRanks, options(), [&](Transport& lane) {
    begin(lane, call_of(1));
    std::vector<std::string> out(kRanks);
    std::vector<std::string> in(kRanks);
    for (int peer = 0; peer < kRanks; ++peer) {
      const auto at = static_cast<std::size_t>(peer);
      if (peer == lane.rank()) continue;
      out[at] = message(kBytes, lane.rank(), peer);
      in[at].resize(kBytes);
      lane.send(peer, bytes_of(out[at]));
      lane.receive(peer, room_in(in[at]));
    }
    lane.wait_all();

    for (int peer = 0; peer < kRanks; ++peer) {
      if (peer == lane.rank()) continue;
      EXPECT_TRUE(in[static_cast<std::size_t>(peer)] == message(kBytes, peer, lane.rank()));
    }
  });
}

// Rank 0 sends what rank 1 asks for only later, while rank 1 receives from rank 2.
TEST_P(TcpTransportTest, KeepsWhatNobodyHasAskedForYet) {
  constexpr std::size_t kSmall = 1000;
  constexpr std::size_t kLarge = 6 << 20;
  run_lanes(3, options(), [&](Transport& lane) {
    if (lane.rank() == 0) {
      const std::string small = message(kSmall, 0, 0);
      const std::string large = message(kLarge, 0, 1);
      begin(lane, call_of(8, 2));
      lane.send(1, bytes_of(small));
      lane.send(1, bytes_of(large));
      lane.wait_all();
    } else if (lane.rank() == 2) {
      const std::string text = message(kSmall, 2, 0);
      begin(lane, call_of(7, 1));
      lane.send(1, bytes_of(text));
      lane.wait_all();
    } else {
      std::string from_2(kSmall, '\0');
      std::string small(kSmall, '\0');
      std::string large(kLarge, '\0');
      begin(lane, call_of(7, 1));
      lane.wait(lane.receive(2, room_in(from_2)));
      begin(lane, call_of(8, 2));
      lane.wait(lane.receive(0, room_in(small)));
      lane.wait(lane.receive(0, room_in(large)));

      EXPECT_TRUE(from_2 == message(kSmall, 2, 0));
      EXPECT_TRUE(small == message(kSmall, 0, 0));
      EXPECT_TRUE(large == message(kLarge, 0, 1));
    }
  });
}

TEST_P(TcpTransportTest, KeepsLanesApart) {
  run_ranks(2, options(), [&](TcpFabric& fabric) {
    std::vector<std::unique_ptr<Transport>> lanes;
    lanes.reserve(Communicator::kMaxLanes);
    for (int lane = 0; lane < Communicator::kMaxLanes; ++lane) {
      lanes.push_back(fabric.open_lane(lane));
    }
    const int peer = 1 - fabric.rank();
    // Each rank goes through the lanes in its own order.
    for (int i = 0; i < Communicator::kMaxLanes; ++i) {
      const int number = fabric.rank() == 0 ? i : Communicator::kMaxLanes - 1 - i;
      Transport& lane = *lanes[static_cast<std::size_t>(number)];
      begin(lane, call_of(number));
      if (fabric.rank() == 0) {
        lane.wait(lane.send(peer, bytes_of(message(5, 0, number))));
      }
    }
    for (int number = 0; fabric.rank() == 1 && number < Communicator::kMaxLanes; ++number) {
      std::string text(5, '\0');
      Transport& lane = *lanes[static_cast<std::size_t>(number)];
      lane.wait(lane.receive(peer, room_in(text)));
      EXPECT_TRUE(text == message(5, 0, number)) << "lane " << number;
    }
  });
}

TEST(TcpTransport, NamesBothCallsOnBothRanksWhenTheyDiffer) {
  std::array<std::string, 2> errors;
  run_lanes(2, {}, [&](Transport& lane) {
    std::string text(40, 'x');
    begin(lane, call_of(lane.rank() == 0 ? 10 : 11));
    errors.at(static_cast<std::size_t>(lane.rank())) = error_text(ErrorCode::invalid_argument, [&] {
      if (lane.rank() == 0) lane.send(1, bytes_of(text));
      lane.wait(lane.receive(1 - lane.rank(), room_in(text)));
    });
  });

  EXPECT_EQ(errors[0], errors[1]);
  EXPECT_NE(errors[0].find("seq 1: rank 0 all_reduce f32[10], rank 1 all_reduce f32[11] (group "
                           "test, lane 0)"),
            std::string::npos)
      << errors[0];
}

TEST(TcpTransport, TellsTheOtherRanksOfTheMismatchToo) {
  std::array<std::string, 3> errors;
  run_lanes(3, {}, [&](Transport& lane) {
    std::string text(40, 'x');
    begin(lane, call_of(lane.rank() == 0 ? 10 : 11));
    errors.at(static_cast<std::size_t>(lane.rank())) = error_text(ErrorCode::invalid_argument, [&] {
      if (lane.rank() == 0) lane.send(1, bytes_of(text));
      // Rank 2 waits for rank 1, which has nothing for it.
      lane.wait(lane.receive(lane.rank() == 1 ? 0 : 1, room_in(text)));
    });
  });

  EXPECT_EQ(errors[0], errors[1]);
  EXPECT_EQ(errors[0], errors[2]);
}

TEST(TcpTransport, FindsDifferentCallsWhereBothRanksSend) {
  run_lanes(2, {}, [&](Transport& lane) {
    const std::string text(16 << 20, 'x');
    begin(lane, call_of(lane.rank() == 0 ? 10 : 11));
    const std::string error = error_text(ErrorCode::invalid_argument, [&] {
      lane.wait(lane.send(1 - lane.rank(), bytes_of(text)));
    });

    EXPECT_NE(error.find("rank 0 all_reduce f32[10], rank 1 all_reduce f32[11]"), std::string::npos)
        << error;
  });
}

TEST(TcpTransport, NamesBothLengthsWhenTheyDiffer) {
  for (const std::size_t theirs : {std::size_t{10}, std::size_t{200'000}}) {
    run_lanes(2, {}, [&](Transport& lane) {
      std::string mine(100, 'x');
      const std::string sent(theirs, 'y');
      begin(lane, call_of(10));
      const std::string text = error_text(ErrorCode::invalid_argument, [&] {
        if (lane.rank() == 0) {
          lane.send(1, bytes_of(sent));
          lane.send(1, bytes_of(sent));
        }
        lane.wait(lane.receive(1 - lane.rank(), room_in(mine)));
      });
      EXPECT_NE(text.find("rank 0 sends " + std::to_string(theirs) + " bytes, rank 1 expects 100"),
                std::string::npos)
          << text;
    });
  }
}

TEST(TcpTransport, SaysAtTheDeadlineWhatIsMissingFromWhom) {
  run_ranks(2, {}, [&](TcpFabric& fabric) {
    static std::latch both(2);
    if (fabric.rank() == 0) {
      const auto lane = fabric.open_lane(0);
      std::string text(400, 'x');
      lane->begin(call_of(100, 12), {.label = "gradients", .timeout_s = 0.2},
                  Deadline::after_seconds(0.2));
      const std::string error = error_text(ErrorCode::timeout, [&] {
        lane->send(1, bytes_of("abc"));
        lane->wait(lane->receive(1, room_in(text)));
      });

      for (const std::string& part :
           {std::string("all_reduce f32[100] \"gradients\" (group test, lane 0, seq 12)"),
            std::string("(limit 0.2 s)"), fabric.describe(0), fabric.describe(1),
            std::string("received 0 of 400 bytes")}) {
        EXPECT_NE(error.find(part), std::string::npos) << error;
      }
      EXPECT_EQ(error, error_text(ErrorCode::timeout, [&] { lane->wait_all(); }));
    }
    both.arrive_and_wait();
  });
}

TEST(TcpTransport, WaitsLongerForARankThatSendsHeartbeats) {
  run_ranks(2, {}, [&](TcpFabric& fabric) {
    const auto lane = fabric.open_lane(0);
    begin(*lane, call_of(1), 0.5);
    std::string text = "abc";
    if (fabric.rank() == 1) {
      for (int i = 0; i < 20; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        fabric.heartbeat();
      }
      begin(*lane, call_of(1));
      lane->wait(lane->send(0, bytes_of(text)));
    } else {
      text.clear();
      text.resize(3);
      lane->wait(lane->receive(1, room_in(text)));
      EXPECT_EQ(text, "abc");
    }
  });
}

TEST(TcpTransport, RefusesMessagesToItselfAndToNobody) {
  run_lanes(2, {}, [&](Transport& lane) {
    begin(lane, call_of(1));
    for (const int peer : {-1, lane.rank(), 2}) {
      error_text(ErrorCode::invalid_argument, [&] { lane.send(peer, {}); });
      error_text(ErrorCode::invalid_argument, [&] { lane.receive(peer, {}); });
    }
    error_text(ErrorCode::invalid_argument, [&] { lane.wait(0); });
  });
}

TEST(TcpFabric, OpensALaneOnce) {
  run_ranks(2, {}, [&](TcpFabric& fabric) {
    const auto lane = fabric.open_lane(3);
    for (const int number : {-1, 3, Communicator::kMaxLanes}) {
      error_text(ErrorCode::invalid_argument, [&] { fabric.open_lane(number); });
    }
  });
}

}  // namespace
}  // namespace muster::collectives::tcp
