#include "runtime/control/launcher_link.hpp"

#include <chrono>
#include <cstdlib>
#include <future>
#include <memory>
#include <string>
#include <variant>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include "runtime/control/packet_socket.hpp"
#include "tests/support/error_text.hpp"

namespace muster::runtime {
namespace {

using std::chrono::seconds;

/// A rank's link whose orders can be waited for, and the launcher's end.
class LinkTest : public testing::Test {
 protected:
  LinkTest() {
    auto [mine, theirs] = make_control_pair();
    launcher_ = std::move(mine);
    link_ = std::make_unique<LauncherLink>(
        std::move(theirs),
        LauncherOrders{
            .stop = [this] { order_.set_value("stop"); },
            .abort = [this](std::string_view why) { order_.set_value(std::string(why)); },
            .lost = [this] { order_.set_value("lost"); }});
  }

  std::string next_order() {
    auto future = order_.get_future();
    if (future.wait_for(seconds(10)) != std::future_status::ready) return "nothing";
    return future.get();
  }

  std::promise<std::string> order_;
  collectives::Fd launcher_;
  std::unique_ptr<LauncherLink> link_;
};

TEST_F(LinkTest, PassesTheStopRequestOn) {
  ASSERT_EQ(send_now(launcher_.number(), StopMessage{}), Sent::yes);

  EXPECT_EQ(next_order(), "stop");
}

TEST_F(LinkTest, PassesTheReasonOfAnAbortOn) {
  ASSERT_EQ(send_now(launcher_.number(), AbortMessage{"rank 1 failed"}), Sent::yes);

  EXPECT_EQ(next_order(), "rank 1 failed");
}

TEST_F(LinkTest, NoticesThatTheLauncherIsGone) {
  launcher_.reset();

  EXPECT_EQ(next_order(), "lost");
}

TEST_F(LinkTest, IgnoresAMalformedMessageAndListensOn) {
  const std::byte garbage[] = {std::byte{99}, std::byte{1}};
  ASSERT_EQ(::send(launcher_.number(), garbage, sizeof(garbage), 0), 2);
  ASSERT_EQ(send_now(launcher_.number(), StopMessage{}), Sent::yes);

  EXPECT_EQ(next_order(), "stop");
}

TEST_F(LinkTest, SendsInOrderAndClosesAtItsEnd) {
  link_->send(LinesMessage{"one"});
  link_->send(FinishedMessage{});
  link_.reset();

  const Received lines = receive(launcher_.number(), true);
  const Received finished = receive(launcher_.number(), true);
  const Received end = receive(launcher_.number(), true);

  EXPECT_EQ(std::get<LinesMessage>(*lines.message).text, "one");
  EXPECT_TRUE(std::holds_alternative<FinishedMessage>(*finished.message));
  EXPECT_TRUE(end.is_closed);
}

TEST_F(LinkTest, LeavesProgressOutWhenTheLauncherReadsNothing) {
  constexpr int kSent = 20000;  // far more than a socket buffer holds
  for (int i = 0; i < kSent; ++i) link_->send_progress({});

  int received = 0;
  while (receive(launcher_.number(), false).message.has_value()) ++received;

  EXPECT_GT(received, 0);
  EXPECT_LT(received, kSent);
}

/// MUSTER_CONTROL_FD for the time of a test.
class ControlVariable {
 public:
  explicit ControlVariable(const std::string& value) {
    ::setenv("MUSTER_CONTROL_FD", value.c_str(), 1);
  }
  ~ControlVariable() { ::unsetenv("MUSTER_CONTROL_FD"); }
};

TEST(ControlSocket, IsTakenOnceFromTheEnvironmentAndNotInherited) {
  auto [launcher, rank] = make_control_pair();
  const int number = rank.release();
  ::fcntl(number, F_SETFD, 0);  // as the launcher hands it over
  const ControlVariable variable(std::to_string(number));

  const collectives::Fd taken = take_control_socket();

  EXPECT_EQ(taken.number(), number);
  EXPECT_EQ(::fcntl(number, F_GETFD), FD_CLOEXEC);
  EXPECT_FALSE(take_control_socket().is_open());
}

TEST(ControlSocket, IsRefusedWhenTheNumberIsNotASocket) {
  for (const char* value : {"", "x", "-1", "3x", "99999"}) {
    const ControlVariable variable(value);

    const std::string text = error_text(ErrorCode::config, [] { take_control_socket(); });

    EXPECT_NE(text.find("MUSTER_CONTROL_FD=\"" + std::string(value) + "\""), std::string::npos)
        << text;
  }
}

TEST(PacketSocket, SaysWouldBlockWhenFullAndPeerGoneWhenClosed) {
  auto [a, b] = make_control_pair();
  const LinesMessage large{std::string(40000, 'x')};
  Sent sent = Sent::yes;
  for (int i = 0; i < 10000 && sent == Sent::yes; ++i) sent = send_now(a.number(), large);

  EXPECT_EQ(sent, Sent::would_block);
  EXPECT_EQ(send_within(a.number(), large, 0.05), Sent::would_block);
  b.reset();
  EXPECT_EQ(send_now(a.number(), large), Sent::peer_gone);
}

TEST(PacketSocket, HasNothingToGiveWhenNothingWasSent) {
  const auto [a, b] = make_control_pair();

  const Received received = receive(a.number(), false);

  EXPECT_FALSE(received.message.has_value());
  EXPECT_FALSE(received.is_closed);
}

}  // namespace
}  // namespace muster::runtime
