#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "collectives/net/endpoint.hpp"
#include "collectives/net/interfaces.hpp"

namespace muster::collectives::tcp {

/// What a rank publishes of itself, as one line: "PID HOST ADDRESS:PORT ADDRESS:PORT …", with
/// the word "encrypted" after HOST where that rank encrypts its connections.
struct Door {
  pid_t pid = 0;
  std::string host;
  std::vector<Endpoint> endpoints;  // where it listens, in order of preference
  bool is_encrypted = false;

  bool operator==(const Door&) const = default;
};

std::string encode(const Door& door);
/// Error(io) names `from` if the line is none, or an address is not numeric.
Door decode_door(std::string_view line, std::string_view from);

/// The addresses on which a rank listens. `wish` as in choose_interfaces(). Where the ranks of a
/// group are on several hosts, loopback is no choice: the same address leads each host to itself.
/// Error(config) lists what there is.
std::vector<Interface> choose_doors(std::string_view wish, bool is_one_host,
                                    const std::vector<Interface>& there);

}  // namespace muster::collectives::tcp
