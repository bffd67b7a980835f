#include "collectives/shm/handshake.hpp"

#include <array>
#include <cstring>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/un.h>
#include <unistd.h>

#include "collectives/shm/segments.hpp"
#include "collectives/shm/unix_socket.hpp"
#include "tests/support/error_text.hpp"
#include "tests/support/memory_store.hpp"

namespace muster::collectives::shm {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr std::size_t kBytes = heap_begin(2) + kMiB;

Deadline soon() {
  return Deadline::after_seconds(20.0);
}

GroupSpec group_of_two(int rank) {
  GroupSpec group;
  group.name = "pair";
  group.rank = rank;
  group.size = 2;
  group.hosts.assign(2, "here");
  return group;
}

std::vector<Neighbour> exchange(int rank, Store& store, const Fd& file, Deadline deadline) {
  return exchange_segments(group_of_two(rank), store, file, kBytes, deadline);
}

std::string door_of(MemoryStore& store, int rank) {
  return store.get("comm/pair/" + std::to_string(rank) + "/shm", soon());
}
// The published value begins with the socket's name.
std::string name_of(const std::string& door) {
  return door.c_str();
}

TEST(Handshake, GivesEachRankTheFileOfTheOther) {
  MemoryStore store;
  std::array<Fd, 2> files = {create_segment_file(kBytes), create_segment_file(kBytes)};
  ASSERT_EQ(::pwrite(files[0].number(), "zero", 4, 0), 4);
  ASSERT_EQ(::pwrite(files[1].number(), "one!", 4, 0), 4);
  std::array<std::string, 2> seen;
  {
    std::array<std::jthread, 2> ranks;
    for (int rank = 0; rank < 2; ++rank) {
      const auto mine = static_cast<std::size_t>(rank);
      ranks[mine] = std::jthread([&, rank, mine] {
        const std::vector<Neighbour> all = exchange(rank, store, files[mine], soon());
        std::array<char, 4> bytes{};
        EXPECT_EQ(::pread(all[1 - mine].file.number(), bytes.data(), 4, 0), 4);
        seen[mine] = std::string(bytes.data(), 4);
        EXPECT_EQ(all[1 - mine].pid, ::getpid());
        EXPECT_EQ(all[1 - mine].bytes, kBytes);
      });
    }
  }

  EXPECT_EQ(seen[0], "one!");
  EXPECT_EQ(seen[1], "zero");
}

// What a rank says first, as it travels.
struct Hello {
  std::uint64_t layout = sizeof(ControlBlock) << 32 | heap_begin(2);
  std::uint64_t bytes = kBytes;
  std::int64_t rank = 1;
  std::array<std::byte, 32> token{};
};

TEST(Handshake, GivesAStrangerNoAnswerAndGoesOn) {
  MemoryStore store;
  const Fd file = create_segment_file(kBytes);
  std::jthread rank0([&] { EXPECT_EQ(exchange(0, store, file, soon()).size(), 2U); });
  const std::string name = name_of(door_of(store, 0));
  for (const std::size_t length :
       {std::size_t{0}, std::size_t{1}, sizeof(Hello), std::size_t{5000}}) {
    const Fd stranger = connect_to(name, soon(), "rank 0");
    const std::vector<std::byte> guess(length, std::byte{1});
    if (length > 0) send_with_file(stranger, guess, file, "rank 0");
    if (length == 0) continue;  // hangs up at once

    std::array<std::byte, sizeof(Hello)> answer{};
    EXPECT_FALSE(receive_with_file(stranger, answer, soon(), "rank 0"));
  }

  EXPECT_EQ(exchange(1, store, file, soon()).size(), 2U);
}

TEST(Handshake, GivesAGuessedTokenNoAnswer) {
  MemoryStore store;
  const Fd file = create_segment_file(kBytes);
  std::jthread rank0([&] { EXPECT_EQ(exchange(0, store, file, soon()).size(), 2U); });
  const Fd stranger = connect_to(name_of(door_of(store, 0)), soon(), "rank 0");
  const Hello guess;
  send_with_file(stranger, std::as_bytes(std::span(&guess, 1)), file, "rank 0");

  std::array<std::byte, sizeof(Hello)> answer{};
  EXPECT_FALSE(receive_with_file(stranger, answer, soon(), "rank 0"));
  EXPECT_EQ(exchange(1, store, file, soon()).size(), 2U);
}

TEST(Handshake, TrustsNobodyWhoDoesNotKnowItsToken) {
  MemoryStore store;
  const Fd listener = listen_at("muster-test-impostor", 4);
  std::string door(80, '\0');  // the layout of what ranks publish: name [48], token [32]
  std::memcpy(door.data(), "muster-test-impostor", 20);
  store.set("comm/pair/0/shm", door);
  const Fd file = create_segment_file(kBytes);
  std::jthread impostor([&] {
    const Fd socket = accept_one(listener, soon(), "rank 1");
    std::array<std::byte, sizeof(Hello)> hello{};
    EXPECT_TRUE(receive_with_file(socket, hello, soon(), "rank 1"));
    send_with_file(socket, hello, file, "rank 1");  // its own words, not rank 1's token
  });

  const std::string text =
      error_text(ErrorCode::peer_lost, [&] { exchange(1, store, file, soon()); });

  EXPECT_THAT(text, HasSubstr("rank 0 of group pair does not belong to this job"));
}

TEST(Handshake, NamesTheRankThatIsMissing) {
  MemoryStore store;
  const Fd file = create_segment_file(kBytes);

  const std::string text = error_text(
      ErrorCode::timeout, [&] { exchange(0, store, file, Deadline::after_seconds(0.1)); });

  EXPECT_THAT(text, HasSubstr("rank 1 of group pair"));
}

TEST(Handshake, SaysThatASocketOutOfReachMayBeInAnotherContainer) {
  MemoryStore store;
  std::string door(80, '\0');
  std::memcpy(door.data(), "muster-test-nobody", 18);
  store.set("comm/pair/0/shm", door);
  const Fd file = create_segment_file(kBytes);

  const std::string text =
      error_text(ErrorCode::unsupported, [&] { exchange(1, store, file, soon()); });

  EXPECT_THAT(text, AllOf(HasSubstr("rank 0 of group pair"), HasSubstr("network namespace")));
}

TEST(Handshake, RefusesWhatIsNotADoor) {
  MemoryStore store;
  store.set("comm/pair/0/shm", "short");
  const Fd file = create_segment_file(kBytes);

  EXPECT_THAT(error_text(ErrorCode::io, [&] { exchange(1, store, file, soon()); }),
              HasSubstr("published 5 bytes under comm/pair/0/shm"));
}

}  // namespace
}  // namespace muster::collectives::shm
