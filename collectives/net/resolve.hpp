#pragma once

#include <string>
#include <vector>

#include "collectives/net/asio.hpp"
#include "collectives/net/endpoint.hpp"
#include "collectives/net/interfaces.hpp"

namespace muster::collectives {

/// Every address that an endpoint stands for, in the system's order; numeric ones are not looked
/// up. Error(io) names the host that is unknown. For source files of this layer and bootstrap only.
std::vector<Tcp::endpoint> resolve(const Endpoint& endpoint);

/// Where a server listens that is to be found under `endpoint`, which this host takes for `found`.
///
/// Many systems resolve a host's own name to loopback (127.0.1.1), but only on that host: clients
/// on others come to its real addresses. So where such a name leads to loopback alone, those of
/// `there` that do not are added. Numeric addresses and names of loopback itself ("localhost") are
/// taken as they are meant.
std::vector<Tcp::endpoint> addresses_to_serve(const Endpoint& endpoint,
                                              std::vector<Tcp::endpoint> found,
                                              const std::vector<Interface>& there);

/// "127.0.0.1:29500", "[::1]:29500"
std::string to_string(const Tcp::endpoint& address);

}  // namespace muster::collectives
