#include "runtime/pairs/timed_calls.hpp"

#include <array>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "collectives/transport/transport_communicator.hpp"
#include "kernels/devices.hpp"
#include "tests/support/local_fabric.hpp"

namespace muster::runtime {
namespace {

using collectives::LinkProfile;

/// What each of three ranks finds over links of that kind.
std::array<LinkProfile, 3> found_over(const collectives::LocalLink& link) {
  const collectives::LocalNetwork network("links", 3, link);
  std::array<LinkProfile, 3> found;
  std::vector<std::jthread> ranks;
  for (int rank = 0; rank < 3; ++rank) {
    ranks.emplace_back([&, rank] {
      const auto device = kernels::open_device("cpu", kernels::DeviceOptions());
      const collectives::GroupSpec spec{
          .name = "links", .rank = rank, .size = 3, .hosts = {"a", "b", "c"}};
      collectives::TransportCommunicator group(spec, network.open(rank), *device, {});
      found[static_cast<std::size_t>(rank)] = measure_neighbours(group, 0.02);
    });
  }
  ranks.clear();
  return found;
}

TEST(MeasureNeighbours, FindsLatencyAndBandwidthTheSameOnAllRanks) {
  const auto found = found_over({.delay_s = 2e-3, .bytes_per_s = 1e8});

  EXPECT_EQ(found[0], found[1]);
  EXPECT_EQ(found[0], found[2]);
  EXPECT_GE(found[0].alpha_s, 2e-3);
  EXPECT_LE(found[0].alpha_s, 2e-2);
  EXPECT_GE(found[0].beta_s_per_byte, 0.5e-8);
  EXPECT_LE(found[0].beta_s_per_byte, 10e-8);
}

}  // namespace
}  // namespace muster::runtime
