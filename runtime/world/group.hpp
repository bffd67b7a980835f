#pragma once

#include <string>

#include "collectives/backends.hpp"
#include "runtime/world/world.hpp"

namespace muster::runtime {

/// The group of all ranks, for collectives::create_communicator(). `cores_per_rank`: see there.
collectives::GroupSpec world_group(const World& world, std::string name, int cores_per_rank);

}  // namespace muster::runtime
