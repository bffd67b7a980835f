// What a listening rank does about connections that are not its peers'.

#include <algorithm>
#include <chrono>
#include <fstream>
#include <latch>
#include <list>
#include <string>
#include <thread>
#include <vector>

#include "collectives/bootstrap/handshake.hpp"
#include "collectives/net/asio.hpp"
#include "collectives/net/interfaces.hpp"
#include "collectives/tcp/door.hpp"
#include "collectives/tcp/frame.hpp"
#include "collectives/tcp/introduction.hpp"
#include "tests/collectives/tcp/tcp_ranks.hpp"
#include "tests/support/error_text.hpp"

namespace muster::collectives::tcp {
namespace {

using std::chrono::milliseconds;

/// A connection that does not go through the back end's code.
class Stranger {
 public:
  explicit Stranger(const Endpoint& server) {
    socket_.connect(Tcp::endpoint(asio::ip::make_address(server.host), server.port));
  }

  template <typename Bytes>
  void say(const Bytes& bytes) {
    ErrorStatus ignored;  // the other side may have closed in the middle of it
    asio::write(socket_, asio::buffer(bytes), ignored);
  }
  template <typename Bytes>
  void hear(Bytes& bytes) {
    asio::read(socket_, asio::buffer(bytes));
  }
  /// Number of bytes that came before the other side closed.
  std::size_t read_to_end() {
    std::string received;
    ErrorStatus status;
    return asio::read(socket_, asio::dynamic_buffer(received), status);
  }

  /// Goes through the handshake and says who it is. True if it was let in.
  bool introduce(const Secret& secret, const Introduction& introduction) {
    ClientHandshake handshake(secret);
    say(handshake.hello());
    Challenge challenge{};
    hear(challenge);
    say(handshake.answer(challenge));
    Welcome welcome{};
    hear(welcome);
    if (welcome != kWelcome) return false;
    say(Introducer(secret, "test").seal(introduction, challenge));
    hear(welcome);
    return welcome == kWelcome;
  }

 private:
  asio::io_context context_;
  Tcp::socket socket_{context_};
};

Endpoint door_of(Store& store, int rank) {
  return decode_door(store.get("comm/test/" + std::to_string(rank) + "/tcp", soon()), "the rank")
      .endpoints.front();
}

/// Both ranks of a group make their data connection and exchange a message after `disturb` had the
/// door of rank 1.
void exchange_while(const TcpOptions& options,
                    const std::function<void(const Endpoint&)>& disturb) {
  MemoryStore store;
  std::latch is_disturbed(1);
  std::vector<std::jthread> ranks;
  for (int rank = 0; rank < 2; ++rank) {
    ranks.emplace_back([&, rank] {
      try {
        TcpFabric fabric(spec_of(rank, 2), store, options, soon());
        const auto lane = fabric.open_lane(0);
        if (rank == 1) {
          disturb(door_of(store, 1));
          is_disturbed.count_down();
        }
        is_disturbed.wait();
        const std::string mine = message(100'000, rank, 0);
        std::string theirs(100'000, '\0');
        begin(*lane, call_of(1));
        lane->send(1 - rank, bytes_of(mine));
        lane->receive(1 - rank, room_in(theirs));
        lane->wait_all();
        EXPECT_TRUE(theirs == message(100'000, 1 - rank, 0));
      } catch (const std::exception& error) {
        ADD_FAILURE() << "rank " << rank << ": " << error.what();
      }
    });
  }
}

TEST(TcpStrangers, AreDroppedWhenTheySendGarbage) {
  exchange_while({}, [](const Endpoint& door) {
    for (const std::string& garbage : {std::string("GET / HTTP/1.1\r\nHost: x\r\n\r\n------------"),
                                       std::string(100000, '\xff'), std::string(48, '\0')}) {
      Stranger stranger(door);
      stranger.say(garbage);
      EXPECT_EQ(stranger.read_to_end(), 0U);
    }
  });
}

TEST(TcpStrangers, AreRefusedWithTheWrongSecret) {
  exchange_while({}, [](const Endpoint& door) {
    const ClientHandshake impostor(Secret::random());
    Stranger stranger(door);
    stranger.say(impostor.hello());
    stranger.say(std::string(sizeof(Answer), '\1'));  // says "accepted" with a wrong proof
    EXPECT_EQ(stranger.read_to_end(), sizeof(Challenge) + sizeof(Welcome));
  });
}

TEST(TcpStrangers, OfThisJobAreRefusedAtTheWrongDoor) {
  exchange_while({}, [](const Endpoint& door) {
    const Secret secret = *spec_of(0, 2).secret;
    for (const Introduction& wrong :
         {Introduction{.from = 0, .to = 0}, Introduction{.from = 2, .to = 1},
          Introduction{.from = 1, .to = 1}, Introduction{.from = 0, .to = 2}}) {
      Stranger stranger(door);
      EXPECT_FALSE(stranger.introduce(secret, wrong)) << wrong.from << " to " << wrong.to;
    }
  });
}

TEST(TcpStrangers, ThatStayHalfOpenAreClosedAtTheirLimitOfTime) {
  exchange_while({.handshake_limit_s = 0.2}, [](const Endpoint& door) {
    const auto start = Deadline::Clock::now();
    Stranger silent(door);
    Stranger slow(door);
    slow.say(std::string("MUST"));
    EXPECT_EQ(silent.read_to_end(), 0U);
    EXPECT_EQ(slow.read_to_end(), 0U);
    EXPECT_GE(Deadline::Clock::now() - start, milliseconds(150));
  });
}

TEST(TcpStrangers, InAFloodDoNotKeepARankOut) {
  std::list<Stranger> flood;  // stays until the exchange is over
  exchange_while({.most_strangers = 4, .handshake_limit_s = 60.0}, [&](const Endpoint& door) {
    for (int i = 0; i < 12; ++i) flood.emplace_back(door);
  });
}

std::size_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::size_t pages = 0;
  file >> pages >> pages;
  return pages * 4096;
}

TEST(TcpStrangers, TenThousandCostNoMemory) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the address sanitizer keeps what was freed";
#endif
  exchange_while({}, [](const Endpoint& door) {
    constexpr int kBatch = 200;
    constexpr std::size_t kLimit = 4 << 20;  // 500 bytes each
    std::size_t before = 0;
    for (int batch = 0; batch < 50; ++batch) {
      std::list<Stranger> strangers;
      for (int i = 0; i < kBatch; ++i) strangers.emplace_back(door);
      if (batch == 4) before = resident_bytes();
    }
    const std::size_t after = resident_bytes();
    EXPECT_LT(after, before + kLimit);
  });
}

/// Rank 1 of a group whose rank 0 is the test itself, which sends `bytes` on the connection of
/// `lane`. Returns what rank 1 throws while it waits for rank 0.
std::string error_after(int lane, const std::string& bytes) {
  MemoryStore store;
  const GroupSpec spec = spec_of(1, 2);
  store.set("comm/test/0/tcp", "1 here 127.0.0.1:1");
  std::string text;
  std::jthread rank([&] {
    text = error_text(ErrorCode::peer_lost, [&] {
      TcpFabric fabric(spec, store, {}, soon());
      const auto transport = fabric.open_lane(0);
      std::string data(100, '\0');
      begin(*transport, call_of(25));
      transport->wait(transport->receive(0, room_in(data)));
    });
  });
  Stranger control(door_of(store, 1));
  EXPECT_TRUE(control.introduce(*spec.secret, {.from = 0, .to = 1}));
  Stranger data(door_of(store, 1));
  EXPECT_TRUE(data.introduce(*spec.secret, {.from = 0, .to = 1, .lane = 0}));
  (lane == 0 ? data : control).say(bytes);
  rank.join();
  return text;
}

std::string text_of(const Frame& frame) {
  const FrameBytes bytes = encode(frame);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TEST(TcpStrangers, ThatKnowTheSecretCannotSendWhatIsNoFrame) {
  std::string huge = encode(Control{ControlKind::abort});
  huge[6] = huge[7] = '\xff';  // announces 65535 bytes of text
  for (const std::string& bytes : {std::string(100, 'x'), huge}) {
    const std::string text = error_after(Introduction::kControl, bytes);
    EXPECT_NE(text.find("no frame of this protocol"), std::string::npos) << text;
    EXPECT_NE(text.find("rank 0 (pid 1, host here"), std::string::npos) << text;
  }
  const std::string text = error_after(0, std::string(200, 'x'));
  EXPECT_NE(text.find("no frame of this protocol"), std::string::npos) << text;
}

TEST(TcpStrangers, ThatKnowTheSecretCannotSendOutOfTurn) {
  Frame frame{.signature = call_of(25), .number = 0, .offset = 0, .length = 100, .bytes = 100};
  Frame later = frame;
  later.number = std::uint64_t{1} << 60;
  Frame inside = frame;
  inside.offset = 50;
  inside.bytes = 50;
  for (const Frame& wrong : {later, inside}) {
    const std::string text = error_after(0, text_of(wrong) + std::string(100, 'x'));
    EXPECT_NE(text.find("out of turn"), std::string::npos) << text;
  }
}

TEST(TcpFabric, WorksOverIpv6) {
  const std::vector<Interface> there = list_interfaces();
  const bool has_v6 = std::ranges::any_of(
      there, [](const Interface& interface) { return interface.address == "::1"; });
  if (!has_v6) GTEST_SKIP() << "this host has no IPv6 loopback";

  run_lanes(2, {.interfaces = "::1"}, [](Transport& lane) {
    const int peer = 1 - lane.rank();
    std::string text(3, '\0');
    begin(lane, call_of(1));
    lane.send(peer, bytes_of("abc"));
    lane.wait(lane.receive(peer, room_in(text)));
    lane.wait_all();
    EXPECT_EQ(text, "abc");
  });
}

TEST(TcpFabric, NeedsASecret) {
  MemoryStore store;
  GroupSpec spec = spec_of(0, 2);
  spec.secret.reset();

  const std::string text =
      error_text(ErrorCode::invalid_argument, [&] { TcpFabric(spec, store, {}, soon()); });
  EXPECT_NE(text.find("needs the job's secret"), std::string::npos) << text;
}

}  // namespace
}  // namespace muster::collectives::tcp
