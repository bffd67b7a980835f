#include "collectives/net/resolve.hpp"

#include <fmt/format.h>

#include "kernels/base/error.hpp"

namespace muster::collectives {

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

std::string to_string(const Tcp::endpoint& address) {
  return to_string(Endpoint{address.address().to_string(), address.port()});
}

}  // namespace muster::collectives
