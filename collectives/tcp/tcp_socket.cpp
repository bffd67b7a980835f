#include "collectives/tcp/tcp_socket.hpp"

#include <cerrno>
#include <string_view>

#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "kernels/base/error.hpp"
#include "kernels/base/log.hpp"

namespace muster::collectives::tcp {
namespace {

// Measured on loopback: 1.2 GB/s with 64 KiB, 2.3 with 1 MiB, no more with 4.
constexpr int kBufferBytes = 1 << 20;

void set_buffers(auto& socket) {
  socket.set_option(asio::socket_base::send_buffer_size(kBufferBytes));
  socket.set_option(asio::socket_base::receive_buffer_size(kBufferBytes));
}

void set_number(int fd, int option, int value) {
  if (::setsockopt(fd, IPPROTO_TCP, option, &value, sizeof(value)) != 0) {
    throw Error(ErrorCode::io, fmt::format("TCP option {}: {}", option, errno_text(errno)));
  }
}

// Inside a host nothing can be congested; algorithms that pace (bbr) would halve the rate.
void unpace(const Tcp::socket& socket) {
  ErrorStatus status;
  if (socket.remote_endpoint(status).address() != socket.local_endpoint(status).address()) return;
  constexpr std::string_view kPlain = "reno";
  const int fd = const_cast<Tcp::socket&>(socket).native_handle();
  if (::setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, kPlain.data(), kPlain.size()) != 0) {
    log_debug(
        fmt::format("tcp: congestion control stays as it is: reason=\"{}\"", errno_text(errno)));
  }
}

}  // namespace

Tcp::socket open_socket(asio::io_context& context, const Tcp::endpoint& to) {
  Tcp::socket socket(context, to.protocol());
  close_on_exec(socket.native_handle());
  set_buffers(socket);
  socket.set_option(Tcp::no_delay(true));
  return socket;
}

Tcp::acceptor listen_on(asio::io_context& context, const std::string& address) {
  const Tcp::endpoint endpoint(asio::ip::make_address(address), 0);
  try {
    Tcp::acceptor acceptor(context);
    acceptor.open(endpoint.protocol());
    close_on_exec(acceptor.native_handle());
    set_buffers(acceptor);
    if (endpoint.address().is_v6()) acceptor.set_option(asio::ip::v6_only(true));
    acceptor.bind(endpoint);
    acceptor.listen();
    return acceptor;
  } catch (const boost::system::system_error& error) {
    throw Error(ErrorCode::io, fmt::format("the tcp back end cannot listen on {}: {}", address,
                                           error.code().message()));
  }
}

void prepare_accepted(Tcp::socket& socket) {
  close_on_exec(socket.native_handle());
  socket.set_option(Tcp::no_delay(true));
}

void keep_alive(Tcp::socket& socket) {
  socket.set_option(asio::socket_base::keep_alive(true));
  set_number(socket.native_handle(), TCP_KEEPIDLE, 10);
  set_number(socket.native_handle(), TCP_KEEPINTVL, 3);
  set_number(socket.native_handle(), TCP_KEEPCNT, 3);
}

Fd release(Tcp::socket& socket) {
  unpace(socket);
  return Fd(socket.release());
}

}  // namespace muster::collectives::tcp
