#pragma once

#include <string>
#include <vector>

#include "collectives/net/asio.hpp"
#include "collectives/tcp/introduction.hpp"
#include "collectives/tcp/tcp_socket.hpp"

namespace muster::collectives::tcp {

/// Whom to call, and who calls.
struct DialRequest {
  Secret secret;
  Introducer introducer;
  Introduction introduction;
};

/// Connects to one address and proves who is there, both ways, within `limit_s`. Throws
/// std::exception with the reason. On the thread of `context`.
asio::awaitable<Greeted> dial(asio::io_context& context, const Tcp::endpoint& to,
                              const DialRequest& request, double limit_s);

}  // namespace muster::collectives::tcp
