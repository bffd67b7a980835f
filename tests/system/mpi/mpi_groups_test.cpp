#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "collectives/backends.hpp"
#include "collectives/communicator.hpp"
#include "collectives/split.hpp"
#include "kernels/base/half.hpp"
#include "kernels/devices.hpp"
#include "tests/system/mpi/mpi_ranks.hpp"

/// Groups of MPI's beside each other, and calls whose ranks differ in what they may differ in.
namespace muster::collectives {
namespace {

constexpr std::int64_t kCount = 200000;  // enough for MPI to have several algorithms

class MpiGroups : public testing::Test {
 protected:
  // All ranks; `name` is the test's own.
  static GroupSpec everyone(const std::string& name) {
    const runtime::World& world = test_world();
    GroupSpec group{.name = name, .rank = world.rank, .size = world.size};
    for (const runtime::Member& member : world.members) group.hosts.push_back(member.host_id);
    group.cores_per_rank = 0;
    group.mpi = world.mpi.get();
    return group;
  }
  std::unique_ptr<Communicator> create(const GroupSpec& group) {
    return create_communicator("mpi", group, *test_world().store, *device_,
                               Deadline::after_seconds(20.0));
  }

  std::unique_ptr<kernels::Device> device_ = kernels::open_device("cpu", kernels::DeviceOptions());
};

TEST_F(MpiGroups, SomeRanksMayWorkInPlaceAndOthersNot) {
  const auto group = create(everyone("places"));
  const bool is_in_place = group->rank() == 1;
  const auto share = kCount / group->size();
  std::vector<double> in(kCount, 1.0);
  std::vector<double> out(kCount);
  const TensorView from = vector_view(in.data(), kCount);
  const TensorView to = vector_view(out.data(), kCount);

  group->all_reduce(from, is_in_place ? from : to, ReduceOp::sum).wait();

  EXPECT_EQ(is_in_place ? in : out, std::vector<double>(kCount, group->size()));

  const TensorView mine = to.cols_from(share * group->rank(), share);
  in.assign(kCount, 2.0);
  out.assign(kCount, 2.0);
  group
      ->all_gather(is_in_place ? mine : from.cols_from(0, share),
                   to.cols_from(0, share * group->size()))
      .wait();

  EXPECT_EQ(out, std::vector<double>(kCount, 2.0));
}

TEST_F(MpiGroups, MaxAndMinKeepNotANumberWhoeverHasIt) {
  const auto group = create(everyone("numbers"));
  for (const ReduceOp op : {ReduceOp::max, ReduceOp::min}) {
    for (int owner = 0; owner < group->size(); ++owner) {
      const float value = group->rank() == owner ? std::nanf("") : 1.0F;
      double wide = value;
      float narrow = value;
      Bfloat16 half(value);

      group->all_reduce(vector_view(&wide, 1), vector_view(&wide, 1), op).wait();
      group->all_reduce(vector_view(&narrow, 1), vector_view(&narrow, 1), op).wait();
      group->all_reduce(vector_view(&half, 1), vector_view(&half, 1), op).wait();

      EXPECT_TRUE(std::isnan(wide)) << owner;
      EXPECT_TRUE(std::isnan(narrow)) << owner;
      EXPECT_TRUE(std::isnan(static_cast<float>(half))) << owner;
    }
  }
}

TEST_F(MpiGroups, SplitsLiveSideBySideAndEndInAnyOrder) {
  const GroupSpec all = everyone("parents");
  auto parent = create(all);
  const int color = all.rank % 2;
  const auto half = split_group(all, *test_world().store, color, 0, Deadline::after_seconds(20.0));
  const auto turned =
      split_group(all, *test_world().store, 0, -all.rank, Deadline::after_seconds(20.0));
  ASSERT_TRUE(half && turned);
  auto of_half = create(*half);
  auto of_turned = create(*turned);
  double value = 1.0;
  const TensorView view = vector_view(&value, 1);

  of_half->all_reduce(view, view, ReduceOp::sum).wait();
  EXPECT_EQ(value, half->size);
  value = all.rank;
  if (color == 0) parent.reset();
  of_turned->broadcast(view, 0).wait();
  EXPECT_EQ(value, all.size - 1);
  parent.reset();
  of_half.reset();
  value = 1.0;
  of_turned->all_reduce(view, view, ReduceOp::sum).wait();

  EXPECT_EQ(value, all.size);
}

// Odd and even ranks start with different lanes: one that waited for the other would wait for ever.
TEST_F(MpiGroups, FourHandlesAreInFlightOnTwoLanes) {
  GroupSpec spec = everyone("lanes");
  spec.cores_per_rank = 2;
  const auto group = create(spec);
  std::vector<std::vector<float>> data(4, std::vector<float>(kCount, 1.0F));
  std::vector<Pending> pending;
  for (std::size_t i = 0; i < data.size(); ++i) {
    const std::size_t call = group->rank() % 2 == 0 ? i : (i + 2) % 4;
    const TensorView view = vector_view(data[call].data(), kCount);
    const CallOptions options{.lane = call < 2 ? 1 : 2, .timeout_s = 20.0};
    pending.push_back(group->all_reduce(view, view, ReduceOp::sum, options));
  }

  for (Pending& handle : pending) handle.wait();

  const auto size = static_cast<float>(group->size());
  for (const auto& result : data) EXPECT_EQ(result, std::vector<float>(kCount, size));
}

}  // namespace
}  // namespace muster::collectives
