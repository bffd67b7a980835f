#include "collectives/backends.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "collectives/hierarchy/hierarchical_communicator.hpp"
#include "collectives/mpi/mpi_communicator.hpp"
#include "collectives/self/self_communicator.hpp"
#include "collectives/shm/shm_communicator.hpp"
#include "collectives/tcp/tcp_communicator.hpp"
#include "kernels/base/error.hpp"

namespace muster::collectives {
namespace {

constexpr int kMaxShmRanks = 1024;  // sources that one reduction can have

/// One entry of the list: its name, why it cannot serve a group (empty if it can), how it is made,
/// whether "auto" may choose it, and whether it looks at GroupSpec::algorithms.
struct Backend {
  std::string_view name;
  std::string (*obstacle)(const GroupSpec&, const kernels::Device&);
  std::unique_ptr<Communicator> (*create)(const GroupSpec&, Store&, kernels::Device&, Deadline);
  bool is_automatic = true;
  bool has_algorithms = false;
};

std::string self_obstacle(const GroupSpec& group, const kernels::Device& /*device*/) {
  if (group.size == 1) return {};
  return fmt::format("it serves a group of 1 rank, not {}", group.size);
}

std::unique_ptr<Communicator> create_self(const GroupSpec& group, Store& /*store*/,
                                          kernels::Device& device, Deadline /*deadline*/) {
  return std::make_unique<SelfCommunicator>(group, device);
}

std::string shm_obstacle(const GroupSpec& group, const kernels::Device& device) {
  if (device.name() != "cpu") return fmt::format("it moves CPU memory, not {}'s", device.name());
  if (group.size > kMaxShmRanks) {
    return fmt::format("it serves up to {} ranks, not {}", kMaxShmRanks, group.size);
  }
  const auto& hosts = group.hosts;
  const auto other = std::find_if(hosts.begin(), hosts.end(),
                                  [&](const std::string& host) { return host != hosts.front(); });
  if (other == hosts.end()) return {};
  return fmt::format(
      "rank 0 is on host {} and rank {} on host {}; ranks on different hosts share no memory",
      hosts.front(), other - hosts.begin(), *other);
}

std::string tcp_obstacle(const GroupSpec& group, const kernels::Device& device) {
  if (device.name() != "cpu") return fmt::format("it moves CPU memory, not {}'s", device.name());
  if (!group.secret) return "it needs the job's secret, and the group was made without";
  return {};
}

std::string hierarchical_obstacle(const GroupSpec& group, const kernels::Device& device) {
  std::set<std::string_view> hosts(group.hosts.begin(), group.hosts.end());
  if (hosts.size() == 1) return "all ranks are on one host";
  if (hosts.size() == group.hosts.size()) return "no host has two ranks";
  return tcp_obstacle(group, device);
}

std::string mpi_obstacle(const GroupSpec& group, const kernels::Device& device) {
  if (device.name() != "cpu") return fmt::format("it moves CPU memory, not {}'s", device.name());
  if (group.encrypts) return "it cannot encrypt what it moves";
  if (group.size == 1 || group.mpi != nullptr) return {};
  return "it needs MPI to stay open: start the job with mpirun and choose the back end mpi there";
}

constexpr std::array kBackends = {
    Backend{"self", self_obstacle, create_self},
    Backend{"shm", shm_obstacle, shm::create_shm_communicator},
    Backend{"hierarchical", hierarchical_obstacle, create_hierarchical_communicator, true, true},
    Backend{"tcp", tcp_obstacle, tcp::create_tcp_communicator, true, true},
    Backend{"mpi", mpi_obstacle, mpi::create_mpi_communicator, false},
};

void check_group(const GroupSpec& group) {
  const bool is_sound =
      group.size >= 1 && group.rank >= 0 && group.rank < group.size &&
      group.hosts.size() == static_cast<std::size_t>(group.size) &&
      (group.host_names.empty() || group.host_names.size() == group.hosts.size()) &&
      (!group.serves || group.serves->ranks.size() == group.hosts.size()) &&
      group.cores_per_rank >= 0 && !group.name.empty();
  if (is_sound) return;
  throw Error(
      ErrorCode::invalid_argument,
      fmt::format("group \"{}\": rank {} of {}, {} hosts, {} cores per rank: needs a name, "
                  "a rank below the size, a host per rank and cores >= 0",
                  group.name, group.rank, group.size, group.hosts.size(), group.cores_per_rank));
}

const Backend& find_backend(std::string_view backend, const GroupSpec& group,
                            const kernels::Device& device) {
  check_group(group);
  std::string obstacles;
  for (const Backend& candidate : kBackends) {
    const bool is_wanted = backend == "auto" ? candidate.is_automatic : backend == candidate.name;
    if (!is_wanted) continue;
    const std::string obstacle = candidate.obstacle(group, device);
    if (obstacle.empty()) return candidate;
    obstacles += fmt::format("{}{}: {}", obstacles.empty() ? "" : "; ", candidate.name, obstacle);
  }
  if (obstacles.empty()) {
    throw Error(ErrorCode::unsupported,
                fmt::format("there is no back end \"{}\"; there are auto, {}", backend,
                            fmt::join(backend_names(), ", ")));
  }
  throw Error(ErrorCode::unsupported,
              fmt::format("no back end can serve group {}: {}", group.name, obstacles));
}

}  // namespace

const std::string& host_name(const GroupSpec& group, int rank) {
  const auto& names = group.host_names.empty() ? group.hosts : group.host_names;
  return names[static_cast<std::size_t>(rank)];
}

GroupSpec subgroup(const GroupSpec& group, std::string name, std::span<const int> members) {
  GroupSpec part = group;
  part.name = std::move(name);
  part.size = static_cast<int>(members.size());
  part.hosts.clear();
  part.host_names.clear();
  part.serves.reset();
  for (std::size_t i = 0; i < members.size(); ++i) {
    const auto member = static_cast<std::size_t>(members[i]);
    if (members[i] == group.rank) part.rank = static_cast<int>(i);
    part.hosts.push_back(group.hosts[member]);
    if (!group.host_names.empty()) part.host_names.push_back(group.host_names[member]);
  }
  return part;
}

GroupSpec serving_group(const GroupSpec& group, std::string name, std::span<const int> members) {
  GroupSpec part = subgroup(group, std::move(name), members);
  const GroupNames shown = shown_names(group);
  part.serves = GroupNames{shown.group};
  for (const int member : members) part.serves->ranks.push_back(shown.rank(member));
  return part;
}

GroupNames shown_names(const GroupSpec& group) {
  return group.serves.value_or(GroupNames{group.name});
}

std::unique_ptr<Communicator> create_communicator(std::string_view backend, const GroupSpec& group,
                                                  Store& store, kernels::Device& device,
                                                  Deadline deadline) {
  return find_backend(backend, group, device).create(group, store, device, deadline);
}

std::string_view choose_backend(std::string_view backend, const GroupSpec& group,
                                const kernels::Device& device) {
  return find_backend(backend, group, device).name;
}

std::vector<std::string_view> backend_names() {
  std::vector<std::string_view> names;
  names.reserve(kBackends.size());
  for (const Backend& backend : kBackends) names.push_back(backend.name);
  return names;
}

std::vector<std::string_view> backends_with_algorithms() {
  std::vector<std::string_view> names;
  for (const Backend& backend : kBackends) {
    if (backend.has_algorithms) names.push_back(backend.name);
  }
  return names;
}

bool has_algorithms(std::string_view backend) {
  return std::ranges::any_of(kBackends, [&](const Backend& entry) {
    return entry.name == backend && entry.has_algorithms;
  });
}

}  // namespace muster::collectives
