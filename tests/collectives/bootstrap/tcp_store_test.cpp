#include "collectives/bootstrap/tcp_store.hpp"

#include <chrono>
#include <functional>
#include <list>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "collectives/bootstrap/handshake.hpp"
#include "collectives/bootstrap/tcp_store_server.hpp"
#include "collectives/net/asio.hpp"
#include "collectives/net/frame.hpp"
#include "kernels/base/error.hpp"

namespace muster::collectives {
namespace {

using std::chrono::milliseconds;

Deadline soon() {
  return Deadline::after_seconds(20);
}

struct Thrown {
  ErrorCode code;
  std::string text;
};

Thrown thrown_by(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return {error.code(), error.what()};
  }
  ADD_FAILURE() << "nothing was thrown";
  return {ErrorCode::internal, ""};
}

/// A connection that does not go through the client's code.
class Stranger {
 public:
  explicit Stranger(const Endpoint& server) {
    socket_.connect(Tcp::endpoint(asio::ip::make_address(server.host), server.port));
  }

  void say(const std::string& bytes) {
    ErrorStatus ignored;  // the server may have closed in the middle of it
    asio::write(socket_, asio::buffer(bytes), ignored);
  }
  /// Number of bytes that came before the server closed.
  std::size_t read_to_end() {
    std::string received;
    ErrorStatus status;
    return asio::read(socket_, asio::dynamic_buffer(received), status);
  }

 private:
  asio::io_context context_;
  Tcp::socket socket_{context_};
};

TEST(TcpStore, RefusesAServerOfAnotherJobAndIsRefusedByIt) {
  const TcpStoreServer server(Secret::random(), {});
  testing::internal::CaptureStderr();

  const Thrown thrown = thrown_by([&] { TcpStore(server.endpoint(), Secret::random(), soon()); });
  const auto limit = Deadline::after_seconds(5);
  std::string log;
  while (log.find("refused") == std::string::npos && !limit.has_passed()) {
    std::this_thread::sleep_for(milliseconds(5));
    log += testing::internal::GetCapturedStderr();
    testing::internal::CaptureStderr();
  }
  log += testing::internal::GetCapturedStderr();

  EXPECT_EQ(thrown.code, ErrorCode::config);
  EXPECT_NE(thrown.text.find("secret"), std::string::npos) << thrown.text;
  EXPECT_NE(log.find("connection refused: peer=127.0.0.1:"), std::string::npos) << log;
  EXPECT_NE(log.find("another job's secret"), std::string::npos) << log;
}

TEST(TcpStoreServer, AnswersNoCommandBeforeTheHandshake) {
  const Secret secret = Secret::random();
  const TcpStoreServer server(secret, {});
  const std::vector<std::byte> set = encode(StoreRequest{StoreOp::set, "k", "forged", 0});
  const FrameHeader header = frame_header(set.size());
  std::string bytes(reinterpret_cast<const char*>(header.data()), header.size());
  bytes.append(reinterpret_cast<const char*>(set.data()), set.size());
  bytes.resize(sizeof(Hello), 'x');

  Stranger stranger(server.endpoint());
  stranger.say(bytes);

  EXPECT_EQ(stranger.read_to_end(), 0U);
  TcpStore store(server.endpoint(), secret, soon());
  EXPECT_EQ(thrown_by([&] { store.get("k", Deadline::after_seconds(0)); }).code,
            ErrorCode::timeout);
}

TEST(TcpStoreServer, RefusesAClientThatAnswersWithoutTheSecret) {
  const TcpStoreServer server(Secret::random(), {});
  const ClientHandshake impostor(Secret::random());
  const Hello hello = impostor.hello();
  Stranger stranger(server.endpoint());

  stranger.say(std::string(reinterpret_cast<const char*>(hello.data()), hello.size()));
  stranger.say(std::string(sizeof(Answer), '\1'));  // says "accepted" with a wrong proof

  EXPECT_EQ(stranger.read_to_end(), sizeof(Challenge) + sizeof(Welcome));
}

TEST(TcpStoreServer, DropsGarbageAndServesOn) {
  const Secret secret = Secret::random();
  const TcpStoreServer server(secret, {});
  TcpStore store(server.endpoint(), secret, soon());
  store.set("k", "v");

  for (const std::string& garbage : {std::string("GET / HTTP/1.1\r\nHost: x\r\n\r\n------------"),
                                     std::string(100000, '\xff'), std::string(48, '\0')}) {
    Stranger stranger(server.endpoint());
    stranger.say(garbage);
    EXPECT_EQ(stranger.read_to_end(), 0U);
  }

  EXPECT_EQ(store.get("k", soon()), "v");
}

TEST(TcpStoreServer, ClosesAHalfOpenConnectionAtItsLimitOfTime) {
  const TcpStoreServer server(Secret::random(), {.handshake_limit_s = 0.2});
  const auto start = Deadline::Clock::now();
  Stranger silent(server.endpoint());
  Stranger slow(server.endpoint());
  slow.say("MUST");

  EXPECT_EQ(silent.read_to_end(), 0U);
  EXPECT_EQ(slow.read_to_end(), 0U);
  EXPECT_GE(Deadline::Clock::now() - start, milliseconds(150));
}

TEST(TcpStoreServer, LetsARankInThroughAFloodOfHalfOpenConnections) {
  const Secret secret = Secret::random();
  const TcpStoreServer server(secret, {.max_strangers = 4, .handshake_limit_s = 60.0});
  std::list<Stranger> flood;
  for (int i = 0; i < 12; ++i) flood.emplace_back(server.endpoint());

  TcpStore store(server.endpoint(), secret, soon());
  store.set("k", "v");

  EXPECT_EQ(store.get("k", soon()), "v");
}

TEST(TcpStoreServer, KeepsAKnownConnectionBeyondTheHandshakesLimit) {
  const Secret secret = Secret::random();
  const TcpStoreServer server(secret, {.handshake_limit_s = 0.1});
  TcpStore store(server.endpoint(), secret, soon());

  std::this_thread::sleep_for(milliseconds(300));

  EXPECT_NO_THROW(store.set("k", "v"));
}

TEST(TcpStoreServer, DoesNotCareWhenAWaitingClientVanishes) {
  const Secret secret = Secret::random();
  const TcpStoreServer server(secret, {});
  TcpStore store(server.endpoint(), secret, soon());
  {
    const Deadline deadline = soon();
    Socket socket = Socket::connect(server.endpoint(), deadline);
    ClientHandshake handshake(secret);
    socket.send(handshake.hello(), {}, deadline);
    Challenge challenge;
    socket.receive(challenge, deadline);
    socket.send(handshake.answer(challenge), {}, deadline);
    Welcome welcome;
    socket.receive(welcome, deadline);
    send_frame(socket, encode(StoreRequest{StoreOp::get, "k", "", 60000}), deadline);
  }

  store.set("k", "v");

  EXPECT_EQ(store.get("k", soon()), "v");
}

TEST(TcpStore, SaysPeerLostWhenTheServerIsGone) {
  const Secret secret = Secret::random();
  auto server = std::make_unique<TcpStoreServer>(secret, StoreServerOptions{});
  TcpStore store(server->endpoint(), secret, soon());
  Thrown waiting{ErrorCode::internal, ""};
  {
    const std::jthread reader(
        [&] { waiting = thrown_by([&] { store.get("never", Deadline::after_seconds(60)); }); });
    std::this_thread::sleep_for(milliseconds(50));
    server.reset();
  }

  EXPECT_EQ(waiting.code, ErrorCode::peer_lost) << waiting.text;
  EXPECT_NE(waiting.text.find("never"), std::string::npos) << waiting.text;
  EXPECT_EQ(thrown_by([&] { store.set("k", "v"); }).code, ErrorCode::peer_lost);
}

TEST(TcpStore, WaitsForAServerThatStartsLater) {
  const Secret secret = Secret::random();
  Endpoint later;
  { later = TcpStoreServer(secret, {}).endpoint(); }
  std::unique_ptr<TcpStoreServer> server;
  const std::jthread starter([&] {
    std::this_thread::sleep_for(milliseconds(100));
    server = std::make_unique<TcpStoreServer>(secret, StoreServerOptions{.listen = later});
  });

  TcpStore store(later, secret, soon());

  EXPECT_EQ(store.add("n", 1), 1);
}

TEST(TcpStore, NamesTheAddressAndReasonWhenNobodyAnswers) {
  Endpoint nobody;
  { nobody = TcpStoreServer(Secret::random(), {}).endpoint(); }

  const Thrown thrown =
      thrown_by([&] { TcpStore(nobody, Secret::random(), Deadline::after_seconds(0.1)); });

  EXPECT_EQ(thrown.code, ErrorCode::timeout);
  EXPECT_NE(thrown.text.find(to_string(nobody)), std::string::npos) << thrown.text;
  EXPECT_NE(thrown.text.find("Connection refused"), std::string::npos) << thrown.text;
}

TEST(TcpStoreServer, ListensOnEveryAddressOfAName) {
  const Secret secret = Secret::random();
  const TcpStoreServer server(secret, {.listen = {"localhost", 0}});

  TcpStore by_name({"localhost", server.endpoint().port}, secret, soon());
  TcpStore by_number(server.endpoint(), secret, soon());
  by_name.set("k", "v");

  EXPECT_NE(server.endpoint().port, 0);
  EXPECT_EQ(by_number.get("k", soon()), "v");
}

TEST(TcpStoreServer, NamesAPortThatIsTaken) {
  const TcpStoreServer first(Secret::random(), {});

  const Thrown thrown =
      thrown_by([&] { TcpStoreServer(Secret::random(), {.listen = first.endpoint()}); });

  EXPECT_EQ(thrown.code, ErrorCode::io);
  EXPECT_NE(thrown.text.find(to_string(first.endpoint())), std::string::npos) << thrown.text;
  EXPECT_NE(thrown.text.find("Address already in use"), std::string::npos) << thrown.text;
}

TEST(TcpStoreServer, NamesAnAddressThisHostDoesNotHave) {
  const Thrown thrown = thrown_by([&] {
    TcpStoreServer(Secret::random(), {.listen = {"192.0.2.1", 0}});
  });

  EXPECT_EQ(thrown.code, ErrorCode::io);
  EXPECT_NE(thrown.text.find("192.0.2.1"), std::string::npos) << thrown.text;
}

}  // namespace
}  // namespace muster::collectives
