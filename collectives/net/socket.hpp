#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "collectives/net/endpoint.hpp"
#include "kernels/base/deadline.hpp"

namespace muster::collectives {

/// A connected TCP socket whose every wait has a deadline. Move-only; one thread at a time.
///
/// Errors: peer_lost when the other side has closed or reset the connection, timeout when the
/// deadline passes (the socket is then in an unknown state: destroy it), io for the rest; each
/// names the peer.
class Socket {
 public:
  /// Tries every address that the host's name stands for, once. Error(io) lists them with the
  /// reason of each. Looking up a name may take as long as the system's resolver likes; numeric
  /// addresses are not looked up.
  static Socket connect(const Endpoint& to, Deadline deadline);

  Socket(Socket&&) noexcept;
  Socket& operator=(Socket&&) noexcept;
  ~Socket();

  /// Sends all of `head` and then all of `body`, in one packet if they fit.
  void send(std::span<const std::byte> head, std::span<const std::byte> body, Deadline deadline);
  /// Fills `data` whole.
  void receive(std::span<std::byte> data, Deadline deadline);

  /// "127.0.0.1:29500"
  const std::string& peer() const noexcept;

 private:
  struct Connection;
  explicit Socket(std::unique_ptr<Connection> connection);

  std::unique_ptr<Connection> connection_;
};

}  // namespace muster::collectives
