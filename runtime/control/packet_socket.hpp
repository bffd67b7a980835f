#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <utility>

#include "collectives/net/fd.hpp"
#include "runtime/control/message.hpp"

namespace muster::runtime {

/// The two ends of a launcher's channel to one rank: connected sockets that keep message
/// boundaries, closed on exec. Error(io) when the system has none left.
std::pair<collectives::Fd, collectives::Fd> make_control_pair();

enum class Sent { yes, would_block, peer_gone };

/// Sends one encoded message without waiting; uses no heap. Error(io) on the socket's own errors.
Sent send_now(int socket, std::span<const std::byte> bytes);
Sent send_now(int socket, const Message& message);
/// The same, waiting up to `seconds` for room.
Sent send_within(int socket, std::span<const std::byte> bytes, double seconds);
Sent send_within(int socket, const Message& message, double seconds);

struct Received {
  std::optional<Message> message;  // none: nothing there yet, or `is_closed`
  bool is_closed = false;
};

/// Takes the next message; `may_wait`: until there is one or the other end closes. Error(io) for a
/// malformed one, which is taken off the socket.
Received receive(int socket, bool may_wait);

}  // namespace muster::runtime
