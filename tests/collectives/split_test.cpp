#include "collectives/split.hpp"

#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/base/error.hpp"
#include "kernels/devices.hpp"
#include "tests/support/error_text.hpp"
#include "tests/support/memory_store.hpp"

namespace muster::collectives {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr int kRanks = 4;

Deadline soon() {
  return Deadline::after_seconds(30.0);
}

GroupSpec world_of(int rank) {
  GroupSpec spec;
  spec.name = "world";
  spec.rank = rank;
  spec.size = kRanks;
  spec.hosts = {"a", "b", "c", "d"};
  spec.symmetric_limit = std::size_t{128} << 20;
  return spec;
}

// Runs `body` as every rank of the world, each in a thread of its own.
void as_each_rank(const std::function<void(const GroupSpec&, Store&)>& body) {
  MemoryStore store;
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < kRanks; ++rank) {
    threads.emplace_back([&store, &body, rank] {
      try {
        body(world_of(rank), store);
      } catch (const std::exception& error) {
        ADD_FAILURE() << "rank " << rank << ": " << error.what();
      }
    });
  }
}

TEST(SplitGroup, PutsRanksOfOneColorTogetherInTheOrderOfTheirKeys) {
  as_each_rank([](const GroupSpec& world, Store& store) {
    const int color = world.rank % 2;

    const auto group = split_group(world, store, color, -world.rank, soon());

    ASSERT_TRUE(group);
    EXPECT_EQ(group->name, color == 0 ? "world.split0.0" : "world.split0.1");
    EXPECT_EQ(group->size, 2);
    EXPECT_EQ(group->rank, world.rank < 2 ? 1 : 0);
    EXPECT_EQ(group->hosts, color == 0 ? (std::vector<std::string>{"c", "a"})
                                       : (std::vector<std::string>{"d", "b"}));
    EXPECT_EQ(group->symmetric_limit, world.symmetric_limit);
  });
}

TEST(SplitGroup, EqualKeysKeepTheOrderOfTheParent) {
  as_each_rank([](const GroupSpec& world, Store& store) {
    const auto group = split_group(world, store, 5, 0, soon());

    ASSERT_TRUE(group);
    EXPECT_EQ(group->rank, world.rank);
    EXPECT_EQ(group->hosts, world.hosts);
  });
}

TEST(SplitGroup, ANegativeColorIsInNoGroup) {
  as_each_rank([](const GroupSpec& world, Store& store) {
    const auto group = split_group(world, store, world.rank == 1 ? -1 : 0, 0, soon());

    EXPECT_EQ(group.has_value(), world.rank != 1);
    if (group) {
      EXPECT_EQ(group->size, 3);
    }
  });
}

TEST(SplitGroup, EverySplitHasItsOwnName) {
  as_each_rank([](const GroupSpec& world, Store& store) {
    const auto first = split_group(world, store, 0, 0, soon());
    const auto second = split_group(world, store, 0, 0, soon());
    const auto inner = split_group(*first, store, 0, 0, soon());

    EXPECT_EQ(first->name, "world.split0.0");
    EXPECT_EQ(second->name, "world.split1.0");
    EXPECT_EQ(inner->name, "world.split0.0.split0.0");
  });
}

TEST(SplitGroup, ARankThatDoesNotComeIsNamed) {
  MemoryStore store;

  const std::string text = error_text(ErrorCode::timeout, [&] {
    split_group(world_of(0), store, 0, 0, Deadline::after_seconds(0.05));
  });

  EXPECT_THAT(text, AllOf(HasSubstr("split 0 of group world"), HasSubstr("rank 1 has not come")));
}

// The world and what was split from it, as communicators.
struct Groups {
  Groups(GroupSpec spec, Store& store) {
    spec.hosts.assign(kRanks, "here");
    device = kernels::open_device("cpu", kernels::DeviceOptions());
    world = make(spec, store);
    rows = make(*split_group(spec, store, spec.rank / 2, spec.rank, soon()), store);
    columns = make(*split_group(spec, store, spec.rank % 2, spec.rank, soon()), store);
  }

  std::unique_ptr<Communicator> make(const GroupSpec& spec, Store& store) const {
    return create_communicator("shm", spec, store, *device, soon());
  }

  std::unique_ptr<kernels::Device> device;
  std::unique_ptr<Communicator> world;
  std::unique_ptr<Communicator> rows;
  std::unique_ptr<Communicator> columns;
};

float sum_of_ranks(Communicator& group, int rank, int lane = 0) {
  auto value = static_cast<float>(rank);
  const TensorView view = vector_view(&value, 1);
  group.all_reduce(view, view, ReduceOp::sum, {.lane = lane}).wait();
  return value;
}

TEST(SplitGroup, GroupsMayEndInAnyOrder) {
  as_each_rank([](const GroupSpec& spec, Store& store) {
    Groups groups(spec, store);
    const int rank = spec.rank;
    EXPECT_EQ(sum_of_ranks(*groups.world, rank), 6.0F);
    if (rank % 2 == 0) groups.world.reset();
    EXPECT_EQ(sum_of_ranks(*groups.rows, rank), rank < 2 ? 1.0F : 5.0F);
    if (rank % 2 == 1) groups.world.reset();
    if (rank / 2 == 0) groups.rows.reset();

    EXPECT_EQ(sum_of_ranks(*groups.columns, rank), rank % 2 == 0 ? 2.0F : 4.0F);
  });
}

TEST(SplitGroup, TwoThreadsMayUseTwoLanes) {
  as_each_rank([](const GroupSpec& spec, Store& store) {
    Groups groups(spec, store);
    const int rank = spec.rank;
    const auto use = [&](int lane) {
      for (int round = 0; round < 100; ++round) {
        EXPECT_EQ(sum_of_ranks(*groups.rows, rank, lane), rank < 2 ? 1.0F : 5.0F);
        EXPECT_EQ(sum_of_ranks(*groups.columns, rank, lane), rank % 2 == 0 ? 2.0F : 4.0F);
      }
    };

    std::jthread other([&] { use(1); });
    use(2);
  });
}

}  // namespace
}  // namespace muster::collectives
