#include "collectives/tcp/tcp_communicator.hpp"

#include <utility>

#include "collectives/tcp/tcp_fabric.hpp"
#include "collectives/transport/transport_communicator.hpp"

namespace muster::collectives::tcp {

std::unique_ptr<Communicator> create_tcp_communicator(const GroupSpec& group, Store& store,
                                                      kernels::Device& device, Deadline deadline) {
  auto fabric = std::make_unique<TcpFabric>(group, store, TcpOptions::from_environment(), deadline);
  return std::make_unique<TransportCommunicator>(group, std::move(fabric), device);
}

}  // namespace muster::collectives::tcp
