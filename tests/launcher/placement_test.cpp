#include "launcher/placement.hpp"

#include <string>

#include <gtest/gtest.h>

#include "tests/support/temp_dir.hpp"

namespace muster::launcher {
namespace {

void write_cpu(const TempDir& sysfs, int cpu, int package, int core) {
  const std::string folder = "devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/";
  sysfs.write(folder + "physical_package_id", std::to_string(package) + "\n");
  sysfs.write(folder + "core_id", std::to_string(core) + "\n");
}

TEST(PhysicalCores, GroupThreadsThatShareACore) {
  const TempDir sysfs;
  for (int cpu = 0; cpu < 8; ++cpu) write_cpu(sysfs, cpu, cpu % 4 / 2, cpu % 2);

  const std::vector<Cpus> cores = physical_cores({0, 1, 2, 3, 4, 5, 6, 7}, sysfs.path().string());

  EXPECT_EQ(cores, (std::vector<Cpus>{{0, 4}, {1, 5}, {2, 6}, {3, 7}}));
}

TEST(PhysicalCores, LeaveOutWhatTheMaskDoesNotAllow) {
  const TempDir sysfs;
  for (int cpu = 0; cpu < 4; ++cpu) write_cpu(sysfs, cpu, 0, cpu / 2);

  EXPECT_EQ(physical_cores({0, 3}, sysfs.path().string()), (std::vector<Cpus>{{0}, {3}}));
}

TEST(PhysicalCores, AreOneEachWhenTheSystemDoesNotTell) {
  const TempDir sysfs;

  EXPECT_EQ(physical_cores({2, 5, 9}, sysfs.path().string()), (std::vector<Cpus>{{2}, {5}, {9}}));
}

TEST(Divide, GivesWholeCoresWhileThereAreEnough) {
  const std::vector<Cpus> cores = {{0, 4}, {1, 5}, {2, 6}, {3, 7}};

  EXPECT_EQ(divide(cores, 1), (std::vector<Cpus>{{0, 1, 2, 3, 4, 5, 6, 7}}));
  EXPECT_EQ(divide(cores, 2), (std::vector<Cpus>{{0, 1, 4, 5}, {2, 3, 6, 7}}));
  EXPECT_EQ(divide(cores, 3), (std::vector<Cpus>{{0, 4}, {1, 5}, {2, 3, 6, 7}}));
  EXPECT_EQ(divide(cores, 4), cores);
}

TEST(Divide, GivesSingleProcessorsWhenCoresAreTooFew) {
  EXPECT_EQ(divide({{0, 2}, {1, 3}}, 3), (std::vector<Cpus>{{0}, {2}, {1, 3}}));
}

TEST(Divide, GivesNothingWhenThereAreMoreRanksThanProcessors) {
  EXPECT_TRUE(divide({{0, 2}, {1, 3}}, 5).empty());
}

TEST(Divide, UsesEveryProcessorOnce) {
  for (int cores = 1; cores <= 9; ++cores) {
    std::vector<Cpus> all;
    all.reserve(static_cast<std::size_t>(cores));
    for (int core = 0; core < cores; ++core) all.push_back({2 * core, 2 * core + 1});
    for (int ranks = 1; ranks <= 2 * cores; ++ranks) {
      std::vector<int> used(static_cast<std::size_t>(2 * cores), 0);
      for (const Cpus& share : divide(all, ranks)) {
        EXPECT_FALSE(share.empty()) << ranks << " ranks on " << cores << " cores";
        for (const int cpu : share) ++used[static_cast<std::size_t>(cpu)];
      }
      EXPECT_EQ(used, std::vector<int>(used.size(), 1)) << ranks << " ranks on " << cores;
    }
  }
}

TEST(Describe, ListsFewRanksAndCountsMany) {
  EXPECT_EQ(describe({{0, 1, 2}, {3, 5}}), "rank 0 on 0-2, rank 1 on 3,5");
  EXPECT_EQ(describe(std::vector<Cpus>(64, {0, 1})), "each of 64 ranks on 2 processors of its own");
}

}  // namespace
}  // namespace muster::launcher
