// Ranks as processes of their own: deaths and aborts as a job sees them.

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <string>

#include <dirent.h>
#include <fmt/format.h>
#include <sys/mman.h>

#include "collectives/tcp/tcp_fabric.hpp"
#include "tests/collectives/rank_processes.hpp"
#include "tests/collectives/tcp/tcp_ranks.hpp"
#include "tests/support/error_text.hpp"

namespace muster::collectives::tcp {
namespace {

using Clock = std::chrono::steady_clock;

/// Numbers that ranks and test share.
class SharedNumbers {
 public:
  SharedNumbers()
      : at_(static_cast<std::atomic<std::int64_t>*>(
            ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {}
  SharedNumbers(const SharedNumbers&) = delete;
  SharedNumbers& operator=(const SharedNumbers&) = delete;
  ~SharedNumbers() { ::munmap(at_, 4096); }

  std::atomic<std::int64_t>& operator[](std::size_t i) const { return at_[i]; }
  void wait_for(std::size_t i, std::int64_t value) const {
    while (at_[i].load() < value) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

 private:
  std::atomic<std::int64_t>* at_;
};

std::int64_t now_us() {
  return std::chrono::duration_cast<std::chrono::microseconds>(Clock::now().time_since_epoch())
      .count();
}

void exchange(Transport& lane, int peer) {
  std::string mine(100, 'x');
  std::string theirs(100, '\0');
  lane.send(peer, bytes_of(mine));
  lane.receive(peer, room_in(theirs));
  lane.wait_all();
}

/// Waits for a message that does not come, and returns the error's text and when it came.
std::string wait_in_vain(Transport& lane, int from, std::atomic<std::int64_t>& noticed_us) {
  std::string text(1 << 20, '\0');
  begin(lane, call_of(77, 5));
  try {
    lane.wait(lane.receive(from, room_in(text)));
  } catch (const Error& error) {
    noticed_us = now_us();
    return error.what();
  }
  return "nothing was thrown";
}

TEST(TcpProcesses, NameTheRankThatWasKilled) {
  MemoryStore store;
  const SharedNumbers numbers;
  RankProcesses ranks(3, [&](int rank) -> std::string {
    TcpFabric fabric(spec_of(rank, 3), store, {}, soon());
    const auto lane = fabric.open_lane(0);
    begin(*lane, call_of(1));
    if (rank < 2) exchange(*lane, 1 - rank);
    numbers[0].fetch_add(1);
    if (rank == 1) ::pause();
    // Rank 0 waits for the one that dies, rank 2 for rank 0, with which it never had a message.
    return wait_in_vain(*lane, rank == 0 ? 1 : 0, numbers[1 + static_cast<std::size_t>(rank)]);
  });
  numbers.wait_for(0, 3);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));

  const std::int64_t killed_us = now_us();
  ranks.kill(1);

  const std::string expected = fmt::format("peer lost: rank 1 (pid {}, host ", ranks.pid(1));
  for (const int rank : {0, 2}) {
    const std::string words = ranks.last_words(rank);
    EXPECT_TRUE(words.starts_with(expected)) << words;
    EXPECT_NE(words.find("127.0.0.1) has ended: "), std::string::npos) << words;
    EXPECT_NE(words.find("this rank was in all_reduce f32[77] (group test, lane 0, seq 5)"),
              std::string::npos)
        << words;
    EXPECT_LT(numbers[1 + static_cast<std::size_t>(rank)] - killed_us, 500'000);
  }
}

TEST(TcpProcesses, AbortReachesEveryRankInAMomentWithItsReason) {
  constexpr int kRanks = 6;
  MemoryStore store;
  const SharedNumbers numbers;
  RankProcesses ranks(kRanks, [&](int rank) -> std::string {
    TcpFabric fabric(spec_of(rank, kRanks), store, {}, soon());
    const auto lane = fabric.open_lane(0);
    numbers[0].fetch_add(1);
    if (rank == 3) {
      numbers.wait_for(0, kRanks);
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      numbers[10] = now_us();
      fabric.abort("the disk is full");
      numbers.wait_for(1, kRanks - 1);
      return "done";
    }
    // A ring of which rank 3 is no part for most.
    const std::string words =
        wait_in_vain(*lane, (rank + 1) % kRanks, numbers[20 + static_cast<std::size_t>(rank)]);
    numbers[1].fetch_add(1);
    return words;
  });

  for (int rank = 0; rank < kRanks; ++rank) {
    const std::string words = ranks.last_words(rank);
    if (rank == 3) continue;
    EXPECT_NE(words.find("peer lost: rank 3 (pid"), std::string::npos) << words;
    EXPECT_NE(words.find("aborted the group: the disk is full"), std::string::npos) << words;
    EXPECT_LT(numbers[20 + static_cast<std::size_t>(rank)] - numbers[10], 100'000) << rank;
  }
}

TEST(TcpProcesses, TellsLeavingFromDying) {
  MemoryStore store;
  const SharedNumbers numbers;
  RankProcesses ranks(2, [&](int rank) -> std::string {
    TcpFabric fabric(spec_of(rank, 2), store, {}, soon());
    const auto lane = fabric.open_lane(0);
    begin(*lane, call_of(1));
    exchange(*lane, 1 - rank);
    if (rank == 1) return "left";
    return wait_in_vain(*lane, 1, numbers[0]);
  });

  EXPECT_EQ(ranks.last_words(1), "left");
  const std::string words = ranks.last_words(0);
  EXPECT_NE(words.find("has left the group"), std::string::npos) << words;
}

TEST(TcpProcesses, DeliversWhatARankSentBeforeItLeft) {
  constexpr std::size_t kBytes = 300'000;
  MemoryStore store;
  RankProcesses ranks(2, [&](int rank) -> std::string {
    TcpFabric fabric(spec_of(rank, 2), store, {}, soon());
    const auto lane = fabric.open_lane(0);
    begin(*lane, call_of(1));
    if (rank == 1) {
      const std::string text = message(kBytes, 1, 0);
      lane->wait(lane->send(0, bytes_of(text)));
      return "left";
    }
    std::string text(kBytes, '\0');
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    lane->wait(lane->receive(1, room_in(text)));
    return text == message(kBytes, 1, 0) ? "whole" : "torn";
  });

  EXPECT_EQ(ranks.last_words(1), "left");
  EXPECT_EQ(ranks.last_words(0), "whole");
}

TEST(TcpProcesses, NoticeADeathDuringALargeSend) {
  MemoryStore store;
  const SharedNumbers numbers;
  RankProcesses ranks(2, [&](int rank) -> std::string {
    TcpFabric fabric(spec_of(rank, 2), store, {}, soon());
    const auto lane = fabric.open_lane(0);
    begin(*lane, call_of(1));
    numbers[0].fetch_add(1);
    if (rank == 1) ::pause();
    const std::string text(64 << 20, 'x');
    lane->wait(lane->send(1, bytes_of(text)));
    return "sent";
  });
  numbers.wait_for(0, 2);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));

  ranks.kill(1);

  const std::string words = ranks.last_words(0);
  EXPECT_NE(words.find("peer lost: rank 1 (pid"), std::string::npos) << words;
}

TEST(TcpProcesses, NamesRanksThatDoNotCome) {
  MemoryStore store;
  RankProcesses ranks(2, [&](int rank) -> std::string {
    if (rank == 1) {
      // It publishes an address where nobody listens.
      store.set("comm/test/1/tcp", "1 elsewhere 127.0.0.1:1");
      return "";
    }
    TcpFabric fabric(spec_of(0, 2), store, {}, Deadline::after_seconds(0.5));
    return "connected";
  });

  const std::string words = ranks.last_words(0);
  for (const char* part : {"timeout: group test", "rank 1 (pid 1, host elsewhere, 127.0.0.1)",
                           "127.0.0.1:1: ", "refused", "MUSTER_INTERFACE"}) {
    EXPECT_NE(words.find(part), std::string::npos) << words;
  }
}

TEST(TcpProcesses, NameARankThatDiesWhileTheGroupIsMade) {
  MemoryStore store;
  RankProcesses ranks(3, [&](int rank) -> std::string {
    if (rank == 2) ::pause();  // never comes, so that the others stay in the making
    TcpFabric fabric(spec_of(rank, 3), store, {}, Deadline::after_seconds(30.0));
    return "connected";
  });
  // An address where nobody answers keeps them until one of them dies.
  store.set("comm/test/2/tcp", "1 elsewhere 127.0.0.1:1");
  std::this_thread::sleep_for(std::chrono::milliseconds(200));

  ranks.kill(0);

  const std::string words = ranks.last_words(1);
  EXPECT_TRUE(words.starts_with("peer lost: rank 0 (pid")) << words;
  EXPECT_NE(words.find("while group test was made"), std::string::npos) << words;
}

std::size_t count_entries(const char* folder) {
  DIR* const dir = ::opendir(folder);
  if (dir == nullptr) return 0;
  std::size_t entries = 0;
  while (::readdir(dir) != nullptr) ++entries;
  ::closedir(dir);
  return entries;
}

TEST(TcpProcesses, LeaveNoDescriptorAndNoThreadBehind) {
  MemoryStore store;
  RankProcesses ranks(2, [&](int rank) -> std::string {
    const std::size_t files = count_entries("/proc/self/fd");
    const std::size_t threads = count_entries("/proc/self/task");
    {
      TcpFabric fabric(spec_of(rank, 2), store, {}, soon());
      const auto lane = fabric.open_lane(0);
      begin(*lane, call_of(1));
      exchange(*lane, 1 - rank);
    }
    const bool is_clean =
        count_entries("/proc/self/fd") == files && count_entries("/proc/self/task") == threads;
    return is_clean ? "clean" : "something is left";
  });

  EXPECT_EQ(ranks.last_words(0), "clean");
  EXPECT_EQ(ranks.last_words(1), "clean");
}

}  // namespace
}  // namespace muster::collectives::tcp
