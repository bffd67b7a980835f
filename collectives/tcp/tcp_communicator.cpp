#include "collectives/tcp/tcp_communicator.hpp"

#include <cstdlib>
#include <utility>

#include "collectives/tcp/tcp_fabric.hpp"
#include "collectives/transport/transport_communicator.hpp"

namespace muster::collectives::tcp {

std::unique_ptr<Communicator> create_tcp_communicator(const GroupSpec& group, Store& store,
                                                      kernels::Device& device, Deadline deadline) {
  const TcpOptions options = TcpOptions::from_environment(group.encrypts);
  auto fabric = std::make_unique<TcpFabric>(group, store, options, deadline);
  AlgorithmTable algorithms = group.algorithms.value_or(AlgorithmTable());
  const char* const chosen = std::getenv("MUSTER_ALGO");
  if (!group.algorithms && chosen != nullptr) algorithms.use(chosen);
  return std::make_unique<TransportCommunicator>(group, std::move(fabric), device, algorithms);
}

}  // namespace muster::collectives::tcp
