#include <memory>
#include <utility>

#include <sys/mman.h>
#include <unistd.h>

#include "collectives/backends.hpp"
#include "collectives/hierarchy/hierarchical_communicator.hpp"
#include "collectives/shm/shm_communicator.hpp"
#include "collectives/tcp/tcp_fabric.hpp"
#include "collectives/transport/transport_communicator.hpp"
#include "tests/collectives/rank_threads.hpp"
#include "tests/support/local_fabric.hpp"
#include "tests/support/memory_store.hpp"

namespace muster::collectives {
namespace {

constexpr std::size_t kSegment = std::size_t{512} << 20;

Deadline soon() {
  return Deadline::after_seconds(60.0);
}

// The back end of that name as a job makes it, by way of a store.
BackendUnderTest by_name(const std::string& name) {
  const auto make_group = [name](int ranks, int cores_per_rank) -> MakeRank {
    auto store = std::make_shared<MemoryStore>();
    const Secret secret = Secret::random();
    return [=](int rank, kernels::Device& device) {
      GroupSpec group;
      group.name = "test";
      group.rank = rank;
      group.size = ranks;
      group.hosts.assign(static_cast<std::size_t>(ranks), "here");
      group.cores_per_rank = cores_per_rank;
      group.symmetric_limit = kSegment;
      group.secret = secret;
      return create_communicator(name, group, *store, device, soon());
    };
  };
  return {.name = name,
          .make_group = make_group,
          .most_ranks = name == "self" ? 1 : 8,
          .takes_huge_counts = true,
          .has_symmetric_memory = name == "shm"};
}

// The host of every rank, by number.
using Hosts = std::vector<int> (*)(int ranks);

std::vector<int> equal_hosts(int ranks) {
  if (ranks == 5) return {0, 1, 2, 2, 2};
  std::vector<int> hosts;
  hosts.reserve(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) hosts.push_back(rank / 2);
  return hosts;
}
std::vector<int> unequal_hosts(int ranks) {
  if (ranks == 3) return {0, 1, 1};
  if (ranks == 4) return {0, 0, 0, 1};
  if (ranks == 5) return {0, 0, 0, 1, 1};
  return {0, 0, 0, 1, 2, 2, 2, 2};
}
// The ranks of a host are no neighbours.
std::vector<int> scattered_hosts(int ranks) {
  std::vector<int> hosts;
  hosts.reserve(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) hosts.push_back(rank % 2);
  return hosts;
}

// Several hosts: ranks of this process that share memory only with those of the same number. The
// network between them is loopback, which a machine without any other has, too.
std::unique_ptr<Communicator> make_hierarchical(const GroupSpec& group, Store& store,
                                                kernels::Device& device) {
  const HostLayout layout(group);
  const auto make = [&](std::string_view backend, GroupSpec spec) {
    spec.hosts.assign(spec.hosts.size(), "here");
    spec.cores_per_rank = 0;
    return create_communicator(backend, spec, store, device, soon());
  };
  HostGroups groups;
  if (layout.ranks_of(layout.host_of(group.rank)).size() > 1) {
    groups.local = make("shm", layout.local_group(group, group.rank));
  }
  if (layout.local_rank_of(group.rank) < layout.columns()) {
    groups.column = make("tcp", layout.column(group, group.rank));
  }
  groups.flat = make("tcp", layout.all(group));
  return std::make_unique<HierarchicalCommunicator>(group, std::move(groups), device);
}

BackendUnderTest hierarchical(std::string name, Hosts hosts, int most_ranks) {
  const auto make_group = [hosts](int ranks, int cores_per_rank) -> MakeRank {
    auto store = std::make_shared<MemoryStore>();
    const Secret secret = Secret::random();
    return [=](int rank, kernels::Device& device) {
      GroupSpec group;
      group.name = "test";
      group.rank = rank;
      group.size = ranks;
      for (const int host : hosts(ranks)) group.hosts.push_back("host" + std::to_string(host));
      group.cores_per_rank = cores_per_rank;
      group.symmetric_limit = kSegment;
      group.secret = secret;
      return make_hierarchical(group, *store, device);
    };
  };
  return {.name = std::move(name),
          .make_group = make_group,
          .least_ranks = 3,
          .most_ranks = most_ranks,
          .largest_count = 100003,
          .takes_huge_counts = true,
          .keeps_rank_order = false};
}

// Shared memory where all ranks use one mapping: the thread sanitizer sees only conflicts at one
// address, so it can judge the protocol here and not where each rank has a mapping of its own.
BackendUnderTest shm_in_one_mapping() {
  const auto make_group = [](int ranks, int cores_per_rank) -> MakeRank {
    const std::size_t bytes = kSegment * static_cast<std::size_t>(ranks);
    void* const at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    const std::shared_ptr<std::byte> memory(static_cast<std::byte*>(at),
                                            [bytes](std::byte* data) { ::munmap(data, bytes); });
    return [=](int rank, kernels::Device& device) -> std::unique_ptr<Communicator> {
      const auto size = static_cast<std::size_t>(ranks);
      shm::Group group;
      group.name = "test";
      group.shown.group = "test";
      group.rank = rank;
      group.size = ranks;
      group.peers.assign(size, {::getpid(), "here"});
      group.segments = shm::Segments::over(memory.get(), kSegment);
      group.watch = shm::PeerWatch(std::vector<pid_t>(size, ::getpid()));
      group.policy = shm::WaitPolicy::of(cores_per_rank);
      return std::make_unique<shm::ShmCommunicator>(std::move(group), cores_per_rank, device,
                                                    soon());
    };
  };
  return {.name = "shm_in_one_mapping",
          .make_group = make_group,
          .most_ranks = 3,
          .largest_count = 100003,
          .has_symmetric_memory = true};
}

// All collectives over messages, between threads.
BackendUnderTest fabric_in_memory() {
  const auto make_group = [](int ranks, int cores_per_rank) -> MakeRank {
    const auto network =
        std::make_shared<LocalNetwork>("test", ranks, LocalLink{.kept_messages = 64});
    return [=](int rank, kernels::Device& device) -> std::unique_ptr<Communicator> {
      GroupSpec group;
      group.name = "test";
      group.rank = rank;
      group.size = ranks;
      group.cores_per_rank = cores_per_rank;
      return std::make_unique<TransportCommunicator>(group, network->open(rank), device);
    };
  };
  return {.name = "fabric", .make_group = make_group, .largest_count = 100003};
}

// Over encrypted connections.
BackendUnderTest encrypted_tcp() {
  const auto make_group = [](int ranks, int cores_per_rank) -> MakeRank {
    auto store = std::make_shared<MemoryStore>();
    const Secret secret = Secret::random();
    return [=](int rank, kernels::Device& device) -> std::unique_ptr<Communicator> {
      GroupSpec group;
      group.name = "test";
      group.rank = rank;
      group.size = ranks;
      group.hosts.assign(static_cast<std::size_t>(ranks), "here");
      group.cores_per_rank = cores_per_rank;
      group.secret = secret;
      return std::make_unique<TransportCommunicator>(
          group,
          std::make_unique<tcp::TcpFabric>(group, *store, tcp::TcpOptions{.encrypts = true},
                                           soon()),
          device);
    };
  };
  return {
      .name = "tcp_encrypted", .make_group = make_group, .most_ranks = 2, .largest_count = 40009};
}

}  // namespace

std::vector<BackendUnderTest> all_backends() {
  return {by_name("self"),
          by_name("shm"),
          by_name("tcp"),
          encrypted_tcp(),
          shm_in_one_mapping(),
          fabric_in_memory(),
          hierarchical("hierarchical", equal_hosts, 8),
          hierarchical("hierarchical_unequal", unequal_hosts, 8),
          hierarchical("hierarchical_scattered", scattered_hosts, 4)};
}

std::vector<BackendUnderTest> backends_of_many() {
  std::vector<BackendUnderTest> many;
  for (BackendUnderTest& backend : all_backends()) {
    if (backend.least_ranks <= 2 && backend.most_ranks > 1) many.push_back(std::move(backend));
  }
  return many;
}

std::vector<BackendUnderTest> backends_with_symmetric_memory() {
  std::vector<BackendUnderTest> sharing = backends_of_many();
  std::erase_if(sharing, [](const auto& backend) { return !backend.has_symmetric_memory; });
  return sharing;
}

}  // namespace muster::collectives
