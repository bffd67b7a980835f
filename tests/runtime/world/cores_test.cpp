#include "runtime/world/cores.hpp"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sched.h>

#include "tests/support/temp_dir.hpp"

namespace muster::runtime {
namespace {

constexpr double kNone = std::numeric_limits<double>::infinity();

World world_of(std::vector<std::vector<int>> cpus) {
  World world;
  world.size = static_cast<int>(cpus.size());
  for (int rank = 0; rank < world.size; ++rank) {
    Member member;
    member.rank = rank;
    member.host_id = "here";
    member.cpus = cpus[static_cast<std::size_t>(rank)];
    world.members.push_back(member);
  }
  return world;
}

struct Share {
  std::string name;
  std::vector<std::vector<int>> cpus;
  double quota;
  int threads;
  int cores;
};

class Threads : public testing::TestWithParam<Share> {};

TEST_P(Threads, AreThisRanksShareOfTheCores) {
  const ThreadChoice choice = choose_threads(world_of(GetParam().cpus), GetParam().quota);

  EXPECT_EQ(choice.threads, GetParam().threads) << choice.why;
  EXPECT_EQ(choice.cores_per_rank, GetParam().cores) << choice.why;
}

INSTANTIATE_TEST_SUITE_P(
    Layouts, Threads,
    testing::Values(
        Share{"alone", {{0, 1, 2, 3}}, kNone, 4, 4},
        Share{"shared_by_two", {{0, 1}, {0, 1}}, kNone, 1, 1},
        Share{"bound_apart", {{0, 1, 2, 3}, {4, 5, 6, 7}}, kNone, 4, 4},
        Share{"three_share_four", {{0, 1, 2, 3}, {0, 1, 2, 3}, {0, 1, 2, 3}}, kNone, 1, 1},
        Share{"three_share_three", {{0, 1, 2}, {0, 1, 2}, {0, 1, 2}}, kNone, 1, 1},
        Share{"four_on_two", {{0, 1}, {0, 1}, {0, 1}, {0, 1}}, kNone, 1, 0},
        Share{"partly_shared", {{0, 1, 2, 3}, {2, 3}}, kNone, 3, 3},
        Share{"quota_of_two_for_two", {{0, 1, 2, 3}, {4, 5, 6, 7}}, 2.0, 1, 1},
        Share{"quota_below_one_core", {{0, 1, 2, 3}}, 0.5, 1, 0},
        Share{"quota_above_the_cores", {{0, 1}}, 64.0, 2, 2}),
    [](const auto& test) { return test.param.name; });

TEST(Threads, DoNotCountRanksOfOtherHosts) {
  World world = world_of({{0, 1}, {0, 1}});
  world.members[1].host_id = "elsewhere";

  EXPECT_EQ(choose_threads(world, kNone).threads, 2);
}

TEST(Threads, AreExplainedWithTheNumbers) {
  const std::string why = choose_threads(world_of({{0, 1, 2, 5}, {0, 1, 2, 5}}), 3.0).why;

  EXPECT_EQ(why,
            "1 thread: this rank may run on 4 cores (0-2,5), 2 local ranks, its share is 2; the "
            "control group's quota of 3 cores leaves 1.5");
}

TEST(Affinity, IsTheMaskOfThisThread) {
  cpu_set_t before;
  ASSERT_EQ(::sched_getaffinity(0, sizeof(before), &before), 0);
  const std::vector<int> all = affinity_cpus();
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(static_cast<std::size_t>(all.back()), &one);
  ASSERT_EQ(::sched_setaffinity(0, sizeof(one), &one), 0);

  const std::vector<int> bound = affinity_cpus();
  ::sched_setaffinity(0, sizeof(before), &before);

  EXPECT_EQ(all.size(), static_cast<std::size_t>(CPU_COUNT(&before)));
  EXPECT_EQ(bound, (std::vector<int>{all.back()}));
}

TEST(Quota, IsTheLeastOfTheGroupAndItsAncestorsInVersion2) {
  const TempDir root;
  root.write("proc/self/cgroup", "0::/a/b\n");
  root.write("sys/fs/cgroup/a/cpu.max", "150000 100000\n");
  root.write("sys/fs/cgroup/a/b/cpu.max", "max 100000\n");

  EXPECT_EQ(cpu_quota(root.path().string()), 1.5);
}

TEST(Quota, IsReadInVersion1) {
  const TempDir root;
  root.write("proc/self/cgroup", "3:memory:/x\n1:cpu,cpuacct:/job\n0::/\n");
  root.write("sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "400000\n");
  root.write("sys/fs/cgroup/cpu/job/cpu.cfs_period_us", "100000\n");

  EXPECT_EQ(cpu_quota(root.path().string()), 4.0);
}

TEST(Quota, OfAContainerLiesAtTheRootOfItsMount) {
  const TempDir root;
  root.write("proc/self/cgroup", "0::/system.slice/docker-1234\n");
  root.write("sys/fs/cgroup/cpu.max", "200000 100000\n");

  EXPECT_EQ(cpu_quota(root.path().string()), 2.0);
}

TEST(Quota, IsInfiniteWhenThereIsNone) {
  const TempDir root;
  root.write("proc/self/cgroup", "1:cpu:/\ngarbage\n0::/\n");
  root.write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
  root.write("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");

  EXPECT_TRUE(std::isinf(cpu_quota(root.path().string())));
}

TEST(CpuList, JoinsNeighbours) {
  EXPECT_EQ(cpu_list_text({}), "");
  EXPECT_EQ(cpu_list_text({3}), "3");
  EXPECT_EQ(cpu_list_text({0, 1, 2, 6, 8, 9}), "0-2,6,8-9");
}

}  // namespace
}  // namespace muster::runtime
