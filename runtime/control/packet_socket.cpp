#include "runtime/control/packet_socket.hpp"

#include <array>
#include <cerrno>
#include <cstddef>
#include <vector>

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include "kernels/base/deadline.hpp"

namespace muster::runtime {
namespace {

using collectives::errno_text;
using collectives::Fd;

[[noreturn]] void fail(std::string_view doing) {
  throw Error(ErrorCode::io, fmt::format("control channel: {}: {}", doing, errno_text(errno)));
}

}  // namespace

std::pair<Fd, Fd> make_control_pair() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    fail("making a socket pair");
  }
  return {Fd(ends[0]), Fd(ends[1])};
}

Sent send_now(int socket, std::span<const std::byte> bytes) {
  while (true) {
    if (::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT) >= 0) {
      return Sent::yes;
    }
    if (errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS) return Sent::would_block;
    if (errno == EPIPE || errno == ECONNRESET) return Sent::peer_gone;
    if (errno != EINTR) fail("sending");
  }
}

Sent send_now(int socket, const Message& message) {
  return send_now(socket, encode(message));
}

Sent send_within(int socket, const Message& message, double seconds) {
  return send_within(socket, encode(message), seconds);
}

Sent send_within(int socket, std::span<const std::byte> bytes, double seconds) {
  const Deadline deadline = Deadline::after_seconds(seconds);
  while (true) {
    const Sent sent = send_now(socket, bytes);
    if (sent != Sent::would_block || deadline.has_passed()) return sent;
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline.remaining()).count() + 1;
    pollfd room = {socket, POLLOUT, 0};
    ::poll(&room, 1, static_cast<int>(left));
  }
}

Received receive(int socket, bool may_wait) {
  std::vector<std::byte> bytes(kMaxMessageBytes);
  ssize_t size = -1;
  do {
    size = ::recv(socket, bytes.data(), bytes.size(), may_wait ? 0 : MSG_DONTWAIT);
  } while (size < 0 && errno == EINTR);
  if (size > 0) {
    return {decode(std::span(bytes).first(static_cast<std::size_t>(size))), false};
  }
  if (size == 0 || errno == ECONNRESET) return {std::nullopt, true};
  if (errno == EAGAIN || errno == EWOULDBLOCK) return {};
  fail("receiving");
}

}  // namespace muster::runtime
