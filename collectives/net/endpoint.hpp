#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace muster::collectives {

/// Where a server listens: a name or numeric address, and a TCP port (0: any free one).
struct Endpoint {
  std::string host;
  std::uint16_t port = 0;

  bool operator==(const Endpoint&) const = default;
};

/// "127.0.0.1:29500", "[fd01::1]:29500": an IPv6 address is put in brackets.
std::string to_string(const Endpoint& endpoint);

/// Reads "host:port" and "[v6 address]:port". Error(config) names `what` (the variable or flag it
/// came from), the text, and what was expected.
Endpoint parse_endpoint(std::string_view text, std::string_view what);

/// Reads a port, 0 to 65535. Error(config) as above.
std::uint16_t parse_port(std::string_view text, std::string_view what);

}  // namespace muster::collectives
