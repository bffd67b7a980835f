#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "collectives/backends.hpp"
#include "collectives/shm/layout.hpp"
#include "collectives/shm/unix_socket.hpp"
#include "kernels/devices.hpp"
#include "tests/collectives/rank_processes.hpp"
#include "tests/support/memory_store.hpp"

/// The shm back end among real processes: results, and what is seen of one that dies.
namespace muster::collectives {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Clock = std::chrono::steady_clock;

// A rank's device and group, made in its process.
struct Rank {
  Rank(MemoryStore& store, int rank, int ranks, int cores_per_rank = 0)
      : device(kernels::open_device("cpu", kernels::DeviceOptions())) {
    GroupSpec spec;
    spec.name = "world";
    spec.rank = rank;
    spec.size = ranks;
    spec.hosts.assign(static_cast<std::size_t>(ranks), "hosta");
    spec.cores_per_rank = cores_per_rank;
    spec.symmetric_limit = std::size_t{1} << 30;
    group = create_communicator("auto", spec, store, *device, Deadline::after_seconds(30.0));
  }

  std::unique_ptr<kernels::Device> device;
  std::unique_ptr<Communicator> group;
};

// What a process holds that has a name, and so would outlive a crash: files mapped as shared memory
// that were not removed, and sockets bound to a name.
std::set<std::string> named_objects_of(pid_t pid) {
  std::set<std::string> names;
  std::ifstream maps(fmt::format("/proc/{}/maps", pid));
  for (std::string line; std::getline(maps, line);) {
    const std::size_t path = line.find('/');
    const bool is_shared = line.find("s ") < path;
    if (path != std::string::npos && is_shared && !line.ends_with("(deleted)")) {
      names.insert(line.substr(path));
    }
  }
  std::set<std::string> held;
  for (const auto& entry : std::filesystem::directory_iterator(fmt::format("/proc/{}/fd", pid))) {
    std::error_code gone;  // a descriptor closed since it was listed
    held.insert(std::filesystem::read_symlink(entry.path(), gone).string());
  }
  std::ifstream sockets("/proc/net/unix");
  for (std::string line; std::getline(sockets, line);) {
    std::istringstream words(line);
    std::string word;
    std::string inode;
    std::string name;
    for (int column = 0; column < 6; ++column) words >> word;
    if (words >> inode >> name && held.contains("socket:[" + inode + "]")) names.insert(name);
  }
  return names;
}

std::string all_reduce_many(Communicator& group, std::int64_t count) {
  const Memory memory = group.memory().allocate(static_cast<std::size_t>(count) * 4, "data");
  auto* const shared = reinterpret_cast<float*>(memory.data());
  std::vector<float> own(static_cast<std::size_t>(count));
  for (float* const data : {shared, own.data()}) {
    for (int round = 0; round < 20; ++round) {
      for (std::int64_t i = 0; i < count; ++i) {
        data[i] = static_cast<float>((i + round) % 100 + group.rank());
      }
      const TensorView view = vector_view(data, count);
      group.all_reduce(view, view, ReduceOp::sum).wait();
      const int ranks = group.size();
      const int sum_of_ranks = ranks * (ranks - 1) / 2;
      for (std::int64_t i = 0; i < count; ++i) {
        const auto expected = static_cast<float>(((i + round) % 100) * ranks + sum_of_ranks);
        if (data[i] != expected) return fmt::format("round {}: {} at {}", round, data[i], i);
      }
    }
  }
  return "right";
}

class ShmProcesses : public testing::TestWithParam<int> {};

TEST_P(ShmProcesses, AllReduceOfEverySizeIsRight) {
  const int ranks = GetParam();
  MemoryStore store;
  RankProcesses processes(ranks, [&](int rank) -> std::string {
    const Rank me(store, rank, ranks);
    for (const std::int64_t count : {2, 100, 5000, 70000, 400000}) {
      const std::string outcome = all_reduce_many(*me.group, count);
      if (outcome != "right") return fmt::format("{} elements, {}", count, outcome);
    }
    return "right";
  });

  for (int rank = 0; rank < ranks; ++rank) EXPECT_EQ(processes.last_words(rank), "right") << rank;
}

INSTANTIATE_TEST_SUITE_P(Ranks, ShmProcesses, testing::Values(2, 3, 8));

// Ranks all_reduce for ever until one is killed; returns what the others say.
class ShmDeath : public testing::Test {
 protected:
  static constexpr int kRanks = 3;

  std::string reduce_for_ever(int rank, std::int64_t count, bool is_symmetric) {
    const Rank me(store_, rank, kRanks);
    const Memory memory = me.group->memory().allocate(static_cast<std::size_t>(count) * 4, "data");
    std::vector<float> own(static_cast<std::size_t>(count));
    float* const data = is_symmetric ? reinterpret_cast<float*>(memory.data()) : own.data();
    const TensorView view = vector_view(data, count);
    store_.add("running", 1);
    const CallOptions options{.label = "gradients", .timeout_s = 20.0};
    for (;;) me.group->all_reduce(view, view, ReduceOp::max, options).wait();
  }

  void kill_one_and_listen(std::int64_t count, bool is_symmetric) {
    RankProcesses processes(kRanks,
                            [&](int rank) { return reduce_for_ever(rank, count, is_symmetric); });
    while (store_.add("running", 0) < kRanks) std::this_thread::sleep_for(kShort);
    std::this_thread::sleep_for(kShort);

    const Clock::time_point killed_at = Clock::now();
    const std::string victim = fmt::format("rank 1 (pid {}, host hosta)", processes.pid(1));
    processes.kill(1);
    const std::string first = processes.last_words(0);
    const std::string second = processes.last_words(2);

    EXPECT_LT(Clock::now() - killed_at, std::chrono::seconds(5));
    for (const std::string& words : {first, second}) {
      EXPECT_THAT(words, AllOf(HasSubstr("peer lost"), HasSubstr(victim),
                               HasSubstr(fmt::format("all_reduce f32[{}] \"gradients\"", count))));
    }
  }

  static constexpr auto kShort = std::chrono::milliseconds(20);
  MemoryStore store_;
};

TEST_F(ShmDeath, IsNamedWhenMessagesAreTiny) {
  kill_one_and_listen(2, false);
}
TEST_F(ShmDeath, IsNamedWhenMessagesAreStaged) {
  kill_one_and_listen(1000000, false);
}
TEST_F(ShmDeath, IsNamedWhenMessagesAreSymmetric) {
  kill_one_and_listen(1000000, true);
}

TEST_F(ShmDeath, IsNamedByWhoWaitsForAMessageOrForRoomToSendOne) {
  RankProcesses processes(kRanks, [&](int rank) -> std::string {
    const Rank me(store_, rank, kRanks);
    std::vector<float> data(1000000);
    const TensorView view = vector_view(data.data(), 1000000);
    store_.add("running", 1);
    if (rank == 0) me.group->receive(view, 1).wait();
    if (rank == 2) me.group->send(view, 1).wait();
    for (;;) std::this_thread::sleep_for(kShort);
  });
  while (store_.add("running", 0) < kRanks) std::this_thread::sleep_for(kShort);

  const std::string victim = fmt::format("rank 1 (pid {}, host hosta)", processes.pid(1));
  processes.kill(1);

  for (const int rank : {0, 2}) {
    EXPECT_THAT(processes.last_words(rank), AllOf(HasSubstr("peer lost"), HasSubstr(victim),
                                                  HasSubstr("send_receive f32[1000000]")));
  }
}

TEST_F(ShmDeath, LeavesNothingBehind) {
  RankProcesses processes(kRanks, [&](int rank) { return reduce_for_ever(rank, 1000, true); });
  while (store_.add("running", 0) < kRanks) std::this_thread::sleep_for(kShort);

  for (int rank = 0; rank < kRanks; ++rank) {
    EXPECT_THAT(named_objects_of(processes.pid(rank)), IsEmpty()) << "rank " << rank;
  }
}

TEST(NamedObjects, AreSeen) {
  const Fd socket = shm::listen_at(fmt::format("muster-test-{}", ::getpid()), 1);

  EXPECT_THAT(named_objects_of(::getpid()),
              ElementsAre(fmt::format("@muster-test-{}", ::getpid())));
}

TEST(ShmGroup, IsNotMadeWithoutARankAndSaysWhich) {
  MemoryStore store;
  RankProcesses processes(2, [&](int rank) -> std::string {
    const auto device = kernels::open_device("cpu", kernels::DeviceOptions());
    GroupSpec spec;
    spec.name = "data.0";
    spec.rank = rank == 0 ? 0 : 2;
    spec.size = 3;
    spec.hosts.assign(3, "hosta");
    create_communicator("shm", spec, store, *device, Deadline::after_seconds(0.3));
    return "made";
  });

  EXPECT_THAT(processes.last_words(0),
              AllOf(HasSubstr("timeout"), HasSubstr("rank 1 of group data.0")));
  EXPECT_THAT(processes.last_words(1), AllOf(HasSubstr("timeout"), HasSubstr("comm/data.0/1/shm")));
}

TEST(ShmGroup, TakesTheSmallestLimitOfAllRanks) {
  MemoryStore store;
  RankProcesses processes(2, [&](int rank) -> std::string {
    const auto device = kernels::open_device("cpu", kernels::DeviceOptions());
    GroupSpec spec;
    spec.name = "world";
    spec.rank = rank;
    spec.size = 2;
    spec.hosts.assign(2, "hosta");
    spec.symmetric_limit = rank == 0 ? std::size_t{1} << 40 : std::size_t{128} << 20;
    const auto group =
        create_communicator("shm", spec, store, *device, Deadline::after_seconds(30.0));
    group->memory().allocate(std::size_t{100} << 20, "too much");
    return "allocated";
  });

  for (int rank = 0; rank < 2; ++rank) {
    EXPECT_THAT(processes.last_words(rank),
                AllOf(HasSubstr("out of memory: too much needs 104857600 bytes"),
                      HasSubstr(fmt::format("limit {}", (128U << 20) - shm::heap_begin(2)))));
  }
}

}  // namespace
}  // namespace muster::collectives
