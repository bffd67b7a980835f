#include "runtime/probe/links.hpp"

#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "collectives/transport/transport_communicator.hpp"
#include "kernels/devices.hpp"
#include "tests/support/local_fabric.hpp"

namespace muster::runtime {
namespace {

// The budget is spent by the first message of 8 bytes; a slope of two such would be seconds a byte.
TEST(MeasureLinks, FindsABandwidthWhateverTheBudget) {
  const collectives::LocalNetwork network("links", 2, {.delay_s = 1e-3, .bytes_per_s = 1e8});
  std::vector<LinkProfile> found(2);
  {
    std::vector<std::jthread> ranks;
    for (int rank = 0; rank < 2; ++rank) {
      ranks.emplace_back([&, rank] {
        const auto device = kernels::open_device("cpu", kernels::DeviceOptions());
        const collectives::GroupSpec spec{
            .name = "links", .rank = rank, .size = 2, .hosts = {"a", "b"}};
        collectives::TransportCommunicator group(spec, network.open(rank), *device, {});
        found[static_cast<std::size_t>(rank)] = measure_links(group, 1e9, 1e-4);
      });
    }
  }

  EXPECT_EQ(found[0].all_reduce_s.rbegin()->first, 262144);
  EXPECT_GE(found[0].beta_s_per_byte, 0.5e-8);
  EXPECT_LE(found[0].beta_s_per_byte, 1e-7);
  EXPECT_EQ(found[0].beta_s_per_byte, found[1].beta_s_per_byte);
}

}  // namespace
}  // namespace muster::runtime
