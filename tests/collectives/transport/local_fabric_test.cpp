#include "tests/support/local_fabric.hpp"

#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/base/error.hpp"
#include "tests/support/error_text.hpp"

namespace muster::collectives {
namespace {

using Clock = Deadline::Clock;
using testing::HasSubstr;

Signature barrier(std::uint64_t sequence) {
  return Signature(Call{.kind = CallKind::barrier, .sequence = sequence});
}

// Both ends in one thread: posting never blocks, and what both have posted has moved.
class LocalNetworkOfTwo : public testing::Test {
 protected:
  static constexpr double kPatience = 30.0;  // seconds that no test needs

  void open(LocalLink link = {}, double timeout_s = kPatience) {
    network_.emplace("test", 2, link);
    for (std::size_t rank = 0; rank < 2; ++rank) {
      fabrics_[rank] = network_->open(static_cast<int>(rank));
      ends_[rank] = fabrics_[rank]->open_lane(0);
      begin(static_cast<int>(rank), 0, timeout_s);
    }
  }
  void begin(int rank, std::uint64_t sequence, double timeout_s = kPatience) {
    end(rank).begin(barrier(sequence), {.timeout_s = timeout_s},
                    Deadline::after_seconds(timeout_s));
  }
  Transport& end(int rank) { return *ends_[static_cast<std::size_t>(rank)]; }
  std::span<const std::byte> bytes_of(const int& value) {
    return std::as_bytes(std::span(&value, 1));
  }
  std::span<std::byte> space_in(int& value) { return std::as_writable_bytes(std::span(&value, 1)); }

  std::optional<LocalNetwork> network_;
  std::array<std::unique_ptr<Fabric>, 2> fabrics_;
  std::array<std::unique_ptr<Transport>, 2> ends_;
};

TEST_F(LocalNetworkOfTwo, MovesMessagesInTheOrderOfPosting) {
  open();
  const int first = 1;
  const int second = 2;
  int a = 0;
  int b = 0;

  end(0).send(1, bytes_of(first));
  end(0).send(1, bytes_of(second));
  end(1).receive(0, space_in(a));
  end(1).receive(0, space_in(b));
  end(0).wait_all();
  end(1).wait_all();

  EXPECT_EQ(a, 1);
  EXPECT_EQ(b, 2);
  EXPECT_EQ(network_->sent_by(0), (Traffic{2, 8}));
}

TEST_F(LocalNetworkOfTwo, KeepsASendUntilItIsReceived) {
  open({}, 0.2);

  end(0).send(1, {});

  EXPECT_THAT(error_text(ErrorCode::timeout, [&] { end(0).wait_all(); }), HasSubstr("limit 0.2 s"));
}

TEST_F(LocalNetworkOfTwo, KeepsSmallMessagesAsLongAsThereIsRoom) {
  open({.kept_messages = 1}, 1.0);
  int value = 7;
  int got = 0;

  end(0).send(1, bytes_of(value));
  end(0).wait_all();
  value = 8;
  end(0).send(1, bytes_of(value));
  EXPECT_THAT(error_text(ErrorCode::timeout, [&] { end(0).wait_all(); }), HasSubstr("4 bytes"));
  end(1).receive(0, space_in(got));
  end(1).wait_all();

  EXPECT_EQ(got, 7);
}

TEST_F(LocalNetworkOfTwo, TakesItsTimeByDelayAndRate) {
  open({.delay_s = 0.01, .bytes_per_s = 1e5});
  std::vector<std::byte> data(2000);
  std::vector<std::byte> space(2000);
  const Clock::time_point start = Clock::now();

  end(0).send(1, data);
  end(1).receive(0, space);
  end(0).wait_all();
  const Clock::duration sent = Clock::now() - start;
  end(1).wait_all();
  const Clock::duration received = Clock::now() - start;

  EXPECT_GE(sent, std::chrono::milliseconds(20));
  EXPECT_GE(received, std::chrono::milliseconds(30));
}

TEST_F(LocalNetworkOfTwo, LosesTheMessageThatIsToBeLost) {
  open();
  const int first = 1;
  const int second = 2;
  int got = 0;
  network_->lose_next(0, 1);

  end(0).send(1, bytes_of(first));
  end(0).send(1, bytes_of(second));
  end(1).receive(0, space_in(got));
  end(0).wait_all();
  end(1).wait_all();

  EXPECT_EQ(got, 2);
}

TEST_F(LocalNetworkOfTwo, TellsBothOfDifferentCalls) {
  open();
  begin(1, 1);
  end(0).send(1, {});

  for (const int rank : {0, 1}) {
    EXPECT_THAT(error_text(ErrorCode::invalid_argument,
                           [&] {
                             end(rank).receive(1 - rank, {});
                             end(rank).wait_all();
                           }),
                HasSubstr("rank 0 seq 0 barrier, rank 1 seq 1 barrier"));
  }
}

TEST_F(LocalNetworkOfTwo, LetsMessagesOfALaterCallWaitTheirTurn) {
  open();
  begin(0, 1);
  end(0).send(1, {});

  begin(1, 1);
  end(1).receive(0, {});
  end(0).wait_all();
  end(1).wait_all();

  EXPECT_EQ(network_->sent_by(0).messages, 1);
}

TEST_F(LocalNetworkOfTwo, GivesTheMemoryBackWithTheError) {
  open({}, 0.2);
  int stale = 0;
  end(1).receive(0, space_in(stale));
  EXPECT_THAT(error_text(ErrorCode::timeout, [&] { end(1).wait_all(); }), HasSubstr("rank 1"));
  const int value = 7;

  end(0).send(1, bytes_of(value));

  EXPECT_EQ(stale, 0);
}

TEST_F(LocalNetworkOfTwo, WaitsOnWhileThePeerShowsSignsOfLife) {
  open({}, 1.0);
  std::jthread peer([&] {
    for (int beat = 0; beat < 60; ++beat) {
      std::this_thread::sleep_for(std::chrono::milliseconds(25));
      fabrics_[1]->heartbeat();
    }
    begin(1, 0, 1.0);
    end(1).send(0, {});
    end(1).wait_all();
  });

  end(0).receive(1, {});

  EXPECT_NO_THROW(end(0).wait_all());
}

}  // namespace
}  // namespace muster::collectives
