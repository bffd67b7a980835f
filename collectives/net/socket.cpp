#include "collectives/net/socket.hpp"

#include <array>

#include <fmt/format.h>

#include "collectives/net/asio.hpp"
#include "collectives/net/fd.hpp"
#include "collectives/net/resolve.hpp"
#include "kernels/base/error.hpp"

namespace muster::collectives {

struct Socket::Connection {
  asio::io_context context{1};
  Tcp::socket socket{context};
  std::string peer;

  /// Runs one asynchronous operation, begun by `start(handler)`, to its end or to the deadline.
  /// Returns true if it ended; its result is in `status`.
  template <typename Start>
  bool run(Deadline deadline, ErrorStatus& status, const Start& start) {
    start([&status](const ErrorStatus& result, auto...) { status = result; });
    context.restart();
    context.run_until(deadline.when());
    if (context.stopped()) return true;
    ErrorStatus ignored;  // the operation is given up whatever close() says
    socket.close(ignored);
    context.run();
    return false;
  }

  void check(bool ended, const ErrorStatus& status, std::string_view doing) const {
    if (!ended) {
      throw Error(ErrorCode::timeout,
                  fmt::format("{} {} had not ended at its deadline", doing, peer));
    }
    if (!status) return;
    const bool is_lost = status == asio::error::eof || status == asio::error::connection_reset ||
                         status == asio::error::broken_pipe;
    throw Error(
        is_lost ? ErrorCode::peer_lost : ErrorCode::io,
        fmt::format("{} {}: {}", doing, peer,
                    is_lost ? "the other side has closed the connection" : status.message()));
  }
};

Socket::Socket(std::unique_ptr<Connection> connection) : connection_(std::move(connection)) {}
Socket::Socket(Socket&&) noexcept = default;
Socket& Socket::operator=(Socket&&) noexcept = default;
Socket::~Socket() = default;

const std::string& Socket::peer() const noexcept {
  return connection_->peer;
}

Socket Socket::connect(const Endpoint& to, Deadline deadline) {
  std::string reasons;
  for (const Tcp::endpoint& address : resolve(to)) {
    auto connection = std::make_unique<Connection>();
    connection->peer = to_string(address);
    ErrorStatus status;
    const bool ended = connection->run(deadline, status, [&](auto handler) {
      connection->socket.async_connect(address, handler);
    });
    if (ended && !status) {
      close_on_exec(connection->socket.native_handle());
      connection->socket.set_option(Tcp::no_delay(true));
      return Socket(std::move(connection));
    }
    reasons += fmt::format("{}{}: {}", reasons.empty() ? "" : "; ", connection->peer,
                           ended ? status.message() : "no answer");
  }
  throw Error(ErrorCode::io, fmt::format("cannot connect to {} ({})", to_string(to), reasons));
}

void Socket::send(std::span<const std::byte> head, std::span<const std::byte> body,
                  Deadline deadline) {
  const std::array<asio::const_buffer, 2> buffers = {asio::buffer(head.data(), head.size()),
                                                     asio::buffer(body.data(), body.size())};
  ErrorStatus status;
  const bool ended = connection_->run(deadline, status, [&](auto handler) {
    asio::async_write(connection_->socket, buffers, handler);
  });
  connection_->check(ended, status, "sending to");
}

void Socket::receive(std::span<std::byte> data, Deadline deadline) {
  ErrorStatus status;
  const bool ended = connection_->run(deadline, status, [&](auto handler) {
    asio::async_read(connection_->socket, asio::buffer(data.data(), data.size()), handler);
  });
  connection_->check(ended, status, "receiving from");
}

}  // namespace muster::collectives
