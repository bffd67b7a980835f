// The conformance suite where every rank is a process that mpirun started: main() joins the world,
// and each test makes a communicator of the first so many of its ranks.

#include "tests/system/mpi/mpi_ranks.hpp"

#include <cstdio>
#include <exception>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "collectives/backends.hpp"
#include "collectives/bootstrap/build_id.hpp"
#include "collectives/mpi/mpi_communicator.hpp"
#include "kernels/base/error.hpp"
#include "kernels/devices.hpp"
#include "runtime/world/environment.hpp"
#include "runtime/world/join.hpp"
#include "tests/collectives/rank_threads.hpp"

namespace muster {
namespace {

constexpr double kPatienceS = 20.0;

runtime::World* joined = nullptr;
int groups_made = 0;  // by all ranks together, whether this one is in them or not

}  // namespace

runtime::World& test_world() {
  return *joined;
}

namespace collectives {
namespace {

using Body = std::function<void(Communicator&)>;
using Make = std::unique_ptr<Communicator> (*)(const GroupSpec&, kernels::Device&);

// Names of groups are for ever in a job, and all tests' groups are "test": each group gets a corner
// of the store.
class StoreCorner final : public Store {
 public:
  explicit StoreCorner(int which) : prefix_(fmt::format("test{}/", which)) {}
  void set(std::string_view key, std::string_view value) override {
    test_world().store->set(here(key), value);
  }
  std::string get(std::string_view key, Deadline deadline) override {
    return test_world().store->get(here(key), deadline);
  }
  std::int64_t add(std::string_view key, std::int64_t delta) override {
    return test_world().store->add(here(key), delta);
  }

 private:
  std::string here(std::string_view key) const { return fmt::format("{}{}", prefix_, key); }
  std::string prefix_;
};

std::unique_ptr<Communicator> make_by_name(const GroupSpec& group, kernels::Device& device) {
  StoreCorner store(groups_made);
  return create_communicator("mpi", group, store, device, Deadline::after_seconds(kPatienceS));
}

// As if MPI could move no more than a thousand bytes at a time.
std::unique_ptr<Communicator> make_in_pieces(const GroupSpec& group, kernels::Device& device) {
  std::vector<int> ranks(static_cast<std::size_t>(group.size));
  std::iota(ranks.begin(), ranks.end(), 0);
  int error = mpi::kSuccess;
  auto made = group.mpi->create_group(ranks, error);
  EXPECT_EQ(error, mpi::kSuccess);
  return std::make_unique<mpi::MpiCommunicator>(
      group, std::move(made), device,
      mpi::MpiCommunicator::Options{.cores_per_rank = group.cores_per_rank, .largest_bytes = 1000});
}

GroupSpec spec_of(int ranks, int cores_per_rank) {
  GroupSpec group;
  group.name = "test";
  group.rank = test_world().rank;
  group.size = ranks;
  for (int rank = 0; rank < ranks; ++rank) {
    group.hosts.push_back(test_world().members[static_cast<std::size_t>(rank)].host_id);
  }
  group.cores_per_rank = cores_per_rank;
  group.mpi = test_world().mpi.get();
  return group;
}

BackendUnderTest under_mpirun(std::string name, Make make, std::int64_t largest_count) {
  const auto run_here = [make](int ranks, int cores_per_rank, const Body& body) {
    ++groups_made;
    if (test_world().rank >= ranks) return;
    const auto device = kernels::open_device("cpu", kernels::DeviceOptions());
    const auto group = make(spec_of(ranks, cores_per_rank), *device);
    try {
      body(*group);
    } catch (const std::exception& error) {
      ADD_FAILURE() << "rank " << group->rank() << ": " << error.what();
    }
    // Others wait for what this rank gave up.
    if (testing::Test::HasFailure()) group->abort("a check has failed there");
  };
  return {.name = std::move(name),
          .most_ranks = test_world().size,
          .largest_count = largest_count,
          .takes_huge_counts = largest_count > 100000,
          .run_here = run_here};
}

}  // namespace

std::vector<BackendUnderTest> all_backends() {
  return {under_mpirun("mpi", make_by_name, 100003),
          under_mpirun("mpi_in_pieces", make_in_pieces, 4099)};
}

std::vector<BackendUnderTest> backends_of_many() {
  return all_backends();
}

}  // namespace collectives

namespace {

int run_all_tests(int argc, char** argv) {
  runtime::World world = runtime::join_world(
      runtime::read_identity(runtime::Environment::current()),
      {.build_id = collectives::build_id(), .timeout_s = kPatienceS, .keep_mpi = true});
  if (world.mpi == nullptr) {
    std::fputs("this program is for mpirun\n", stderr);
    return 2;
  }
  joined = &world;
  testing::InitGoogleTest(&argc, argv);
  const int code = RUN_ALL_TESTS();
  runtime::leave_world(world, kPatienceS);
  return code;
}

}  // namespace
}  // namespace muster

int main(int argc, char** argv) {
  try {
    return muster::run_all_tests(argc, argv);
  } catch (const muster::Error& error) {
    std::fputs(fmt::format("{}\n", error.what()).c_str(), stderr);
    return 1;
  }
}
