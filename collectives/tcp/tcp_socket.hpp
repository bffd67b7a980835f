#pragma once

#include <string>

#include "collectives/net/asio.hpp"
#include "collectives/net/fd.hpp"
#include "collectives/tcp/seal.hpp"

/// How the sockets of this back end are set up. For its source files only.
namespace muster::collectives::tcp {

/// A connection whose two ends have proved to know the secret.
struct Greeted {
  Tcp::socket socket;
  Nonces nonces;
  End end;  // ours
};

/// A socket to connect with: closed on exec, with explicit buffers, which the kernel would
/// otherwise grow too late, and without delay.
Tcp::socket open_socket(asio::io_context& context, const Tcp::endpoint& to);

/// Listens on a numeric address, on any free port. Accepted sockets inherit the buffers.
Tcp::acceptor listen_on(asio::io_context& context, const std::string& address);

/// What cannot be inherited from the listener.
void prepare_accepted(Tcp::socket& socket);

/// For a connection that is idle for long: the kernel notices within about 20 s that the other host
/// has gone without a word.
void keep_alive(Tcp::socket& socket);

/// Takes the descriptor out of the library's hands: non-blocking, and tuned for bulk data.
Fd release(Tcp::socket& socket);

}  // namespace muster::collectives::tcp
