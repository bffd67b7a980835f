#include "collectives/backends.hpp"

#include <limits>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "collectives/transport/transport_communicator.hpp"
#include "kernels/devices.hpp"
#include "tests/support/error_text.hpp"
#include "tests/support/memory_store.hpp"

namespace muster::collectives {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

class Backends : public testing::Test {
 protected:
  std::unique_ptr<Communicator> create(std::string_view backend, const GroupSpec& group) {
    return create_communicator(backend, group, store_, *device_, Deadline::after_seconds(10.0));
  }
  static GroupSpec group_on(const std::vector<std::string>& hosts) {
    GroupSpec group;
    group.name = "world";
    group.size = static_cast<int>(hosts.size());
    group.hosts = hosts;
    group.symmetric_limit = std::size_t{128} << 20;
    group.secret = Secret::random();
    return group;
  }

  MemoryStore store_;
  std::unique_ptr<kernels::Device> device_ = kernels::open_device("cpu", kernels::DeviceOptions());
};

TEST_F(Backends, AreListedInOrderOfPreference) {
  EXPECT_THAT(backend_names(), ElementsAre("self", "shm", "hierarchical", "tcp", "mpi"));
}

TEST_F(Backends, ThatChooseBetweenAlgorithmsAreKnown) {
  EXPECT_THAT(backends_with_algorithms(), ElementsAre("hierarchical", "tcp"));
  EXPECT_TRUE(has_algorithms("tcp"));
  for (const char* other : {"self", "shm", "mpi", "auto", ""}) EXPECT_FALSE(has_algorithms(other));
}

TEST_F(Backends, AreChosenWithoutBeingMade) {
  EXPECT_EQ(choose_backend("auto", group_on({"a"}), *device_), "self");
  EXPECT_EQ(choose_backend("auto", group_on({"a", "a"}), *device_), "shm");
  EXPECT_EQ(choose_backend("auto", group_on({"a", "b"}), *device_), "tcp");
  EXPECT_EQ(choose_backend("auto", group_on({"a", "a", "b"}), *device_), "hierarchical");
  EXPECT_EQ(choose_backend("tcp", group_on({"a", "a"}), *device_), "tcp");
  error_text(ErrorCode::unsupported, [&] { choose_backend("tpc", group_on({"a"}), *device_); });
}

TEST_F(Backends, TcpUsesTheAlgorithmsOfItsGroup) {
  GroupSpec group = group_on({"a"});
  group.algorithms.emplace().use("all_reduce=ring");

  const auto made = create("tcp", group);

  const auto& communicator = dynamic_cast<const TransportCommunicator&>(*made);
  EXPECT_EQ(communicator.algorithms().named(CallKind::all_reduce), "ring");
}

TEST_F(Backends, AutoTakesSelfForOneRank) {
  const auto group = create("auto", group_on({"a"}));

  EXPECT_EQ(group->backend(), "self");
  EXPECT_EQ(group->name(), "world");
  EXPECT_EQ(group->size(), 1);
}

TEST_F(Backends, ShmServesOneRankToo) {
  EXPECT_EQ(create("shm", group_on({"a"}))->backend(), "shm");
}

TEST_F(Backends, MpiNeedsASessionThatIsOpen) {
  const std::string text = error_text(ErrorCode::unsupported, [&] {
    create("mpi", group_on({"a", "b"}));
  });

  EXPECT_THAT(text, AllOf(HasSubstr("start the job with mpirun"), HasSubstr("back end mpi")));
}

TEST_F(Backends, MpiServesNobodyWhoWantsEncryption) {
  GroupSpec group = group_on({"a", "b"});
  group.encrypts = true;

  const std::string text = error_text(ErrorCode::unsupported, [&] { create("mpi", group); });

  EXPECT_THAT(text, HasSubstr("mpi: it cannot encrypt"));
}

TEST_F(Backends, MpiServesOneRankWithoutASession) {
  EXPECT_EQ(create("mpi", group_on({"a"}))->backend(), "self");
}

TEST_F(Backends, RanksOnTwoHostsNeedASecret) {
  GroupSpec group = group_on({"a", "a", "b"});
  group.secret.reset();

  const std::string text = error_text(ErrorCode::unsupported, [&] { create("auto", group); });

  EXPECT_THAT(text, AllOf(HasSubstr("rank 0 is on host a and rank 2 on host b"),
                          HasSubstr("tcp: it needs the job's secret")));
}

TEST_F(Backends, TcpServesOneRankToo) {
  EXPECT_EQ(create("tcp", group_on({"a"}))->backend(), "tcp");
}

TEST_F(Backends, SelfRefusesManyRanks) {
  EXPECT_THAT(error_text(ErrorCode::unsupported,
                         [&] {
                           create("self", group_on({"a", "a"}));
                         }),
              HasSubstr("serves a group of 1 rank, not 2"));
}

TEST_F(Backends, AnUnknownNameIsAnsweredWithThoseThereAre) {
  EXPECT_THAT(error_text(ErrorCode::unsupported, [&] { create("nccl", group_on({"a"})); }),
              AllOf(HasSubstr("\"nccl\""), HasSubstr("auto, self, shm, hierarchical, tcp")));
}

TEST_F(Backends, AGroupMustMakeSense) {
  GroupSpec group = group_on({"a", "a"});
  group.rank = 2;
  EXPECT_THAT(error_text(ErrorCode::invalid_argument, [&] { create("auto", group); }),
              HasSubstr("rank 2 of 2"));

  group = group_on({"a", "a"});
  group.hosts.pop_back();
  EXPECT_THAT(error_text(ErrorCode::invalid_argument, [&] { create("auto", group); }),
              HasSubstr("1 hosts"));
}

// The average of one rank is its input, everywhere and bit by bit.
TEST_F(Backends, TheAverageOfOneRankWritesTheWholeOutput) {
  for (const std::string_view backend : backend_names()) {
    if (backend == "hierarchical") continue;  // it needs two hosts
    const auto group = create(backend, group_on({"a"}));
    for (std::int64_t count = 1; count <= 4096; ++count) {
      const auto n = static_cast<std::size_t>(count);
      std::vector<float> in(n);
      for (std::size_t i = 0; i < n; ++i) in[i] = 0.1F * static_cast<float>(i);
      std::vector<float> out(n, std::numeric_limits<float>::quiet_NaN());

      group
          ->all_reduce(vector_view(std::as_const(in).data(), count), vector_view(out.data(), count),
                       ReduceOp::avg)
          .wait();

      ASSERT_EQ(in, out) << backend << ", " << count;
    }
  }
}

}  // namespace
}  // namespace muster::collectives
