#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/bootstrap/secret.hpp"
#include "collectives/bootstrap/store.hpp"
#include "collectives/communicator.hpp"
#include "collectives/group_names.hpp"
#include "collectives/select.hpp"
#include "kernels/device/device.hpp"

namespace muster::collectives {

namespace mpi {
class Session;
}

/// The ranks of a group as the back ends see them.
struct GroupSpec {
  std::string name;  // unique in the job: "world", "data.0"
  int rank = 0;      // this rank's number in the group
  int size = 1;
  std::vector<std::string> hosts;  // [size] host id of every member: equal ids share memory
  std::vector<std::string> host_names = {};  // [size] for people; empty: the ids
  int cores_per_rank = 1;  // cores that each member has for itself; 0: fewer cores than ranks.
                           // From 2 on lanes above 0 run beside the caller, below they run inline
  mpi::Session* mpi = nullptr;  // back end mpi: outlives the group; nullptr where mpirun did not
                                // start the job, or the session was not kept open
  std::size_t symmetric_limit = std::size_t{1} << 40;  // address space kept for symmetric memory
  std::optional<Secret> secret = {};                   // the job's: back ends that listen need it
  std::optional<AlgorithmTable> algorithms = {};  // the same on every rank, for back ends that have
                                                  // a choice; nullopt: as MUSTER_ALGO says
  bool encrypts = false;  // what leaves the host, the same on every rank; MUSTER_TCP_ENCRYPT wins
  std::optional<GroupNames> serves = {};  // the group that errors name; nullopt: itself
};

/// What people call the host of a member.
const std::string& host_name(const GroupSpec& group, int rank);

/// The group of some members of another, in the order of the list. `members`: their numbers in
/// `group`, group.rank among them. All that is not a member's own stays as it is.
GroupSpec subgroup(const GroupSpec& group, std::string name, std::span<const int> members);
/// The same for a group that serves `group`.
GroupSpec serving_group(const GroupSpec& group, std::string name, std::span<const int> members);

/// What errors call the group and its ranks.
GroupNames shown_names(const GroupSpec& group);

/// Makes the communicator of a group: collective over its members. `backend` is a name from
/// backend_names() or "auto". Error(unsupported) when the named back end cannot serve this group,
/// with the reason.
std::unique_ptr<Communicator> create_communicator(std::string_view backend, const GroupSpec& group,
                                                  Store& store, kernels::Device& device,
                                                  Deadline deadline);

/// The name of the back end that create_communicator() would make. Errors as there.
std::string_view choose_backend(std::string_view backend, const GroupSpec& group,
                                const kernels::Device& device);

/// The back ends that choose between algorithms, hierarchical for its steps between hosts; the
/// others have one way for each size, or leave it to a library.
std::vector<std::string_view> backends_with_algorithms();
bool has_algorithms(std::string_view backend);

/// THE LIST of back ends in order of preference for "auto".
std::vector<std::string_view> backend_names();

}  // namespace muster::collectives
