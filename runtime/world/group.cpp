#include "runtime/world/group.hpp"

#include <utility>

namespace muster::runtime {

collectives::GroupSpec world_group(const World& world, std::string name, int cores_per_rank) {
  collectives::GroupSpec spec;
  spec.name = std::move(name);
  spec.rank = world.rank;
  spec.size = world.size;
  for (const Member& member : world.members) {
    spec.hosts.push_back(member.host_id);
    spec.host_names.push_back(member.host);
  }
  spec.cores_per_rank = cores_per_rank;
  spec.secret = world.secret;
  spec.mpi = world.mpi.get();
  return spec;
}

}  // namespace muster::runtime
