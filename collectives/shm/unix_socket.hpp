#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <sys/types.h>

#include "collectives/net/fd.hpp"
#include "kernels/base/deadline.hpp"

/// Unix sockets that carry messages with a file descriptor, by names that exist in no file system.
/// Every call that waits ends at its deadline with Error(timeout); `whom` names the other side.
namespace muster::collectives::shm {

/// Listens under the abstract `name`.
Fd listen_at(std::string_view name, int backlog);

Fd accept_one(const Fd& listener, Deadline deadline, std::string_view whom);

/// Error(unsupported) when nobody listens there in this network namespace.
Fd connect_to(std::string_view name, Deadline deadline, std::string_view whom);

/// The process at the other end, as this process sees it (0: in a pid namespace out of sight).
/// Nothing if it runs as another user.
std::optional<pid_t> peer_of_same_user(const Fd& socket);

void send_with_file(const Fd& socket, std::span<const std::byte> message, const Fd& file,
                    std::string_view whom);

/// Receives one message of exactly message.size() bytes and its file; nothing if what came is
/// anything else or the other side hung up.
std::optional<Fd> receive_with_file(const Fd& socket, std::span<std::byte> message,
                                    Deadline deadline, std::string_view whom);

}  // namespace muster::collectives::shm
