#include "collectives/hierarchy/host_layout.hpp"

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace muster::collectives {
namespace {

GroupSpec group_on(std::vector<std::string> hosts, int rank = 0) {
  GroupSpec group;
  group.name = "world";
  group.rank = rank;
  group.size = static_cast<int>(hosts.size());
  group.hosts = std::move(hosts);
  return group;
}

TEST(HostLayout, NumbersHostsByTheirLowestRank) {
  const HostLayout layout(group_on({"b", "b", "a", "c", "a"}));

  EXPECT_EQ(layout.hosts(), 3);
  EXPECT_EQ(layout.host_of(0), 0);
  EXPECT_EQ(layout.host_of(4), 1);
  EXPECT_EQ(layout.local_rank_of(4), 1);
  EXPECT_EQ(layout.ranks_of(1), (std::vector<int>{2, 4}));
}

TEST(HostLayout, HasAsManyColumnsAsTheSmallestHostHasRanks) {
  EXPECT_EQ(HostLayout(group_on({"a", "a", "b", "b"})).columns(), 2);
  EXPECT_EQ(HostLayout(group_on({"a", "a", "a", "b"})).columns(), 1);
  EXPECT_EQ(HostLayout(group_on({"a", "a", "b", "b", "b", "a"})).columns(), 3);
}

TEST(HostLayout, IsContiguousWhereEveryHostsRanksAreNeighbours) {
  EXPECT_TRUE(HostLayout(group_on({"a", "b", "b", "c"})).is_contiguous());
  EXPECT_FALSE(HostLayout(group_on({"a", "b", "a"})).is_contiguous());
}

TEST(HostLayout, MakesTheGroupsOfARank) {
  const GroupSpec group = group_on({"a", "b", "a", "b"}, 3);
  const HostLayout layout(group);

  const GroupSpec local = layout.local_group(group, 3);
  const GroupSpec column = layout.column(group, 3);

  EXPECT_EQ(local.name, "world.host1");
  EXPECT_EQ(local.rank, 1);
  EXPECT_EQ(local.hosts, (std::vector<std::string>{"b", "b"}));
  EXPECT_EQ(column.name, "world.column1");
  EXPECT_EQ(column.rank, 1);
  EXPECT_EQ(column.hosts, (std::vector<std::string>{"a", "b"}));
}

}  // namespace
}  // namespace muster::collectives
