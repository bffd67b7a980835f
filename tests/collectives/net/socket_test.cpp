#include "collectives/net/socket.hpp"

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>

#include "collectives/net/asio.hpp"
#include "collectives/net/frame.hpp"
#include "kernels/base/error.hpp"

namespace muster::collectives {
namespace {

/// A listening port whose one visitor is handed to a thread.
class Visited {
 public:
  explicit Visited(std::function<void(Tcp::socket&)> host)
      : thread_([this, host = std::move(host)] {
          Tcp::socket visitor = acceptor_.accept();
          host(visitor);
        }) {}

  Endpoint endpoint() const { return {"127.0.0.1", acceptor_.local_endpoint().port()}; }

 private:
  asio::io_context context_;
  Tcp::acceptor acceptor_{context_, Tcp::endpoint(asio::ip::address_v4::loopback(), 0)};
  std::jthread thread_;
};

std::vector<std::byte> pattern(std::size_t bytes) {
  std::vector<std::byte> data(bytes);
  for (std::size_t i = 0; i < bytes; ++i) data[i] = static_cast<std::byte>(i * 7 + 1);
  return data;
}

ErrorCode code_of(const std::function<void()>& body, std::string& text) {
  try {
    body();
  } catch (const Error& error) {
    text = error.what();
    return error.code();
  }
  ADD_FAILURE() << "nothing was thrown";
  return ErrorCode::internal;
}

class Echo : public testing::TestWithParam<std::size_t> {};

TEST_P(Echo, BringsAFrameBackUnchanged) {
  const Visited server([](Tcp::socket& visitor) {
    std::vector<std::byte> all(kFrameHeaderBytes + GetParam());
    asio::read(visitor, asio::buffer(all));
    asio::write(visitor, asio::buffer(all));
  });
  const Deadline deadline = Deadline::after_seconds(20);
  Socket socket = Socket::connect(server.endpoint(), deadline);
  const std::vector<std::byte> sent = pattern(GetParam());

  send_frame(socket, sent, deadline);

  EXPECT_EQ(receive_frame(socket, GetParam(), deadline), sent);
}

INSTANTIATE_TEST_SUITE_P(Sizes, Echo, testing::Values(0, 1, 1000, 300001));

TEST(Socket, RefusesAHugeFrameBeforeAllocatingIt) {
  const Visited server(
      [](Tcp::socket& visitor) { asio::write(visitor, asio::buffer(frame_header(0xFFFFFFFF))); });
  Socket socket = Socket::connect(server.endpoint(), Deadline::after_seconds(10));
  std::string text;

  const ErrorCode code =
      code_of([&] { receive_frame(socket, 1024, Deadline::after_seconds(10)); }, text);

  EXPECT_EQ(code, ErrorCode::io);
  EXPECT_NE(text.find("4294967295"), std::string::npos) << text;
}

TEST(Socket, SaysPeerLostWhenTheOtherSideCloses) {
  const Visited server([](Tcp::socket& visitor) {
    asio::write(visitor, asio::buffer(frame_header(8)));  // and then nothing of the eight bytes
  });
  Socket socket = Socket::connect(server.endpoint(), Deadline::after_seconds(10));
  std::string text;

  const ErrorCode code =
      code_of([&] { receive_frame(socket, 1024, Deadline::after_seconds(10)); }, text);

  EXPECT_EQ(code, ErrorCode::peer_lost);
  EXPECT_NE(text.find(socket.peer()), std::string::npos) << text;
}

TEST(Socket, GivesUpAtTheDeadlineOnASilentPeer) {
  const Visited server([](Tcp::socket& visitor) {
    std::byte byte{};
    ErrorStatus status;
    asio::read(visitor, asio::buffer(&byte, 1), status);  // until the client leaves
  });
  Socket socket = Socket::connect(server.endpoint(), Deadline::after_seconds(10));
  std::string text;

  const auto start = Deadline::Clock::now();
  const ErrorCode code =
      code_of([&] { receive_frame(socket, 1024, Deadline::after_seconds(0.05)); }, text);

  EXPECT_EQ(code, ErrorCode::timeout) << text;
  EXPECT_GE(Deadline::Clock::now() - start, std::chrono::milliseconds(50));
}

TEST(Socket, NamesEveryAddressItTried) {
  std::uint16_t closed_port = 0;
  {
    asio::io_context context;
    const Tcp::acceptor acceptor(context, Tcp::endpoint(asio::ip::address_v4::loopback(), 0));
    closed_port = acceptor.local_endpoint().port();
  }
  std::string text;

  const ErrorCode code = code_of(
      [&] {
        Socket::connect({"127.0.0.1", closed_port}, Deadline::after_seconds(5));
      },
      text);

  EXPECT_EQ(code, ErrorCode::io);
  EXPECT_NE(text.find("127.0.0.1:" + std::to_string(closed_port) + ": Connection refused"),
            std::string::npos)
      << text;
}

}  // namespace
}  // namespace muster::collectives
