#include "collectives/net/resolve.hpp"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "kernels/base/error.hpp"

namespace muster::collectives {
namespace {

bool is_name_of_a_host(const std::string& host) {
  ErrorStatus status;
  asio::ip::make_address(host, status);
  const auto has = [&](std::string_view part) { return host.find(part) != std::string::npos; };
  return status && !has("localhost") && !has("loopback");
}

}  // namespace

std::vector<Tcp::endpoint> resolve(const Endpoint& endpoint) {
  ErrorStatus status;
  const asio::ip::address numeric = asio::ip::make_address(endpoint.host, status);
  if (!status) return {Tcp::endpoint(numeric, endpoint.port)};

  asio::io_context context;
  Tcp::resolver resolver(context);
  const auto found = resolver.resolve(endpoint.host, std::to_string(endpoint.port), status);
  if (status) {
    throw Error(ErrorCode::io, fmt::format("cannot find host \"{}\": {}; a numeric address needs "
                                           "no name service",
                                           endpoint.host, status.message()));
  }
  return {found.begin(), found.end()};
}

std::vector<Tcp::endpoint> addresses_to_serve(const Endpoint& endpoint,
                                              std::vector<Tcp::endpoint> found,
                                              const std::vector<Interface>& there) {
  const bool leads_home = std::ranges::all_of(
      found, [](const Tcp::endpoint& address) { return address.address().is_loopback(); });
  if (!leads_home || !is_name_of_a_host(endpoint.host)) return found;
  for (const Interface& interface : there) {
    if (is_loopback(interface.address)) continue;
    found.emplace_back(asio::ip::make_address(interface.address), endpoint.port);
  }
  return found;
}

std::string to_string(const Tcp::endpoint& address) {
  return to_string(Endpoint{address.address().to_string(), address.port()});
}

}  // namespace muster::collectives
