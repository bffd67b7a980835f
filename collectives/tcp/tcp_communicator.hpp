#pragma once

#include <memory>

#include "collectives/backends.hpp"

namespace muster::collectives::tcp {

/// The collectives over a TcpFabric, set up by the environment (see TcpOptions). Collective over
/// the group. `device` is a CPU and outlives the communicator.
std::unique_ptr<Communicator> create_tcp_communicator(const GroupSpec& group, Store& store,
                                                      kernels::Device& device, Deadline deadline);

}  // namespace muster::collectives::tcp
