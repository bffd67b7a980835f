#include "collectives/shm/unix_socket.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <vector>

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include "kernels/base/error.hpp"

namespace muster::collectives::shm {
namespace {

struct Address {
  sockaddr_un data{};
  socklen_t length = 0;
};

// An abstract name begins with a zero byte.
Address address_of(std::string_view name) {
  Address address;
  address.data.sun_family = AF_UNIX;
  MUSTER_ASSERT(name.size() + 1 <= sizeof(address.data.sun_path));
  std::copy(name.begin(), name.end(), address.data.sun_path + 1);
  address.length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return address;
}

[[noreturn]] void fail(std::string_view doing, std::string_view whom) {
  const int cause = errno;
  if (cause == EAGAIN || cause == EINPROGRESS) {
    throw Error(ErrorCode::timeout, fmt::format("{} {}: no answer in time", doing, whom));
  }
  throw Error(ErrorCode::io, fmt::format("{} {}: {}", doing, whom, errno_text(cause)));
}

Fd open_socket() {
  Fd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!socket.is_open()) fail("opening a unix socket for", "this rank");
  return socket;
}

// Bounds the next blocking call. A time of zero would mean for ever.
void set_timeout(const Fd& socket, int option, Deadline deadline) {
  const auto left =
      std::max(std::chrono::microseconds(1),
               std::chrono::duration_cast<std::chrono::microseconds>(deadline.remaining()));
  const timeval time{static_cast<time_t>(left.count() / 1000000),
                     static_cast<suseconds_t>(left.count() % 1000000)};
  ::setsockopt(socket.number(), SOL_SOCKET, option, &time, sizeof(time));
}

template <typename SystemCall>
auto retry_when_interrupted(SystemCall&& call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

// The one descriptor that came with `message`, if one did.
std::optional<Fd> file_of(msghdr& message) {
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr;
       part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    int fd = -1;
    std::memcpy(&fd, CMSG_DATA(part), sizeof(fd));
    return Fd(fd);
  }
  return std::nullopt;
}

}  // namespace

Fd listen_at(std::string_view name, int backlog) {
  Fd socket = open_socket();
  const Address address = address_of(name);
  const auto* const data = reinterpret_cast<const sockaddr*>(&address.data);
  if (::bind(socket.number(), data, address.length) != 0 ||
      ::listen(socket.number(), backlog) != 0) {
    fail("listening on a unix socket for", "the group's ranks");
  }
  return socket;
}

Fd accept_one(const Fd& listener, Deadline deadline, std::string_view whom) {
  set_timeout(listener, SO_RCVTIMEO, deadline);
  Fd socket(retry_when_interrupted(
      [&] { return ::accept4(listener.number(), nullptr, nullptr, SOCK_CLOEXEC); }));
  if (!socket.is_open()) fail("waiting for a connection of", whom);
  return socket;
}

Fd connect_to(std::string_view name, Deadline deadline, std::string_view whom) {
  Fd socket = open_socket();
  const Address address = address_of(name);
  set_timeout(socket, SO_SNDTIMEO, deadline);
  const auto* const data = reinterpret_cast<const sockaddr*>(&address.data);
  const int result =
      retry_when_interrupted([&] { return ::connect(socket.number(), data, address.length); });
  if (result == 0) return socket;
  if (errno != ECONNREFUSED) fail("connecting to", whom);
  throw Error(ErrorCode::unsupported,
              fmt::format("{} is not reachable by unix socket: it has ended, or it runs in another "
                          "network namespace (container) and cannot share memory with this rank",
                          whom));
}

std::optional<pid_t> peer_of_same_user(const Fd& socket) {
  ucred peer{};
  socklen_t length = sizeof(peer);
  if (::getsockopt(socket.number(), SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0)
    return std::nullopt;
  return peer.uid == ::geteuid() ? std::optional(peer.pid) : std::nullopt;
}

void send_with_file(const Fd& socket, std::span<const std::byte> message, const Fd& file,
                    std::string_view whom) {
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  std::vector<std::byte> bytes(message.begin(), message.end());  // sendmsg takes no const
  iovec part{bytes.data(), bytes.size()};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = sizeof(control);
  cmsghdr* const rights = CMSG_FIRSTHDR(&header);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(sizeof(int));
  const int fd = file.number();
  std::memcpy(CMSG_DATA(rights), &fd, sizeof(fd));
  const ssize_t sent =
      retry_when_interrupted([&] { return ::sendmsg(socket.number(), &header, MSG_NOSIGNAL); });
  if (sent != static_cast<ssize_t>(message.size())) fail("sending a segment to", whom);
}

std::optional<Fd> receive_with_file(const Fd& socket, std::span<std::byte> message,
                                    Deadline deadline, std::string_view whom) {
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  iovec part{message.data(), message.size()};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = sizeof(control);
  set_timeout(socket, SO_RCVTIMEO, deadline);
  const ssize_t received =
      retry_when_interrupted([&] { return ::recvmsg(socket.number(), &header, MSG_CMSG_CLOEXEC); });
  if (received < 0) {
    if (errno == ECONNRESET) return std::nullopt;
    fail("waiting for the segment of", whom);
  }
  std::optional<Fd> file = file_of(header);
  const bool is_whole = received == static_cast<ssize_t>(message.size()) &&
                        (header.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) == 0;
  return is_whole ? std::move(file) : std::nullopt;
}

}  // namespace muster::collectives::shm
