#pragma once

#include <string>
#include <vector>

#include "collectives/net/asio.hpp"
#include "collectives/net/endpoint.hpp"

namespace muster::collectives {

/// Every address that an endpoint stands for, in the system's order; numeric ones are not looked
/// up. Error(io) names the host that is unknown. For source files of this layer and bootstrap only.
std::vector<Tcp::endpoint> resolve(const Endpoint& endpoint);

/// "127.0.0.1:29500", "[::1]:29500"
std::string to_string(const Tcp::endpoint& address);

}  // namespace muster::collectives
