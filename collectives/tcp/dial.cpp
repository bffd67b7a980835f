#include "collectives/tcp/dial.hpp"

#include <memory>
#include <utility>

#include <fmt/format.h>

#include "collectives/bootstrap/handshake.hpp"
#include "collectives/tcp/tcp_socket.hpp"
#include "kernels/base/deadline.hpp"
#include "kernels/base/error.hpp"

namespace muster::collectives::tcp {
namespace {

/// Shared by the coroutine and its pending timer.
struct Attempt {
  explicit Attempt(Tcp::socket opened) : socket(std::move(opened)), timer(socket.get_executor()) {}

  Tcp::socket socket;
  asio::steady_timer timer;
  bool is_over = false;
  bool is_late = false;
};

void close_at(const std::shared_ptr<Attempt>& attempt, double seconds) {
  attempt->timer.expires_at(Deadline::after_seconds(seconds).when());
  attempt->timer.async_wait([attempt](const ErrorStatus& cancelled) {
    if (cancelled || attempt->is_over) return;
    attempt->is_late = true;
    ErrorStatus ignored;  // closing is all we want
    attempt->socket.close(ignored);
  });
}

asio::awaitable<void> expect_welcome(Tcp::socket& socket, const char* otherwise) {
  Welcome welcome{};
  co_await asio::async_read(socket, asio::buffer(welcome), asio::use_awaitable);
  if (welcome != kWelcome) throw Error(ErrorCode::config, otherwise);
}

asio::awaitable<Nonces> introduce(Tcp::socket& socket, const DialRequest& request) {
  ClientHandshake handshake(request.secret);
  const collectives::Hello hello = handshake.hello();
  co_await asio::async_write(socket, asio::buffer(hello), asio::use_awaitable);
  Challenge challenge{};
  co_await asio::async_read(socket, asio::buffer(challenge), asio::use_awaitable);
  const Answer answer = handshake.answer(challenge);
  co_await asio::async_write(socket, asio::buffer(answer), asio::use_awaitable);
  if (!handshake.is_server_known()) {
    throw Error(ErrorCode::config, "what answers there does not know this job's secret");
  }
  co_await expect_welcome(socket, "it refused our secret");
  const IntroductionBytes bytes = request.introducer.seal(request.introduction, challenge);
  co_await asio::async_write(socket, asio::buffer(bytes), asio::use_awaitable);
  co_await expect_welcome(socket, "another rank of this job answers there");
  co_return nonces_of(hello, challenge);
}

}  // namespace

asio::awaitable<Greeted> dial(asio::io_context& context, const Tcp::endpoint& to,
                              const DialRequest& request, double limit_s) {
  const auto attempt = std::make_shared<Attempt>(open_socket(context, to));
  close_at(attempt, limit_s);
  Nonces nonces{};
  try {
    co_await attempt->socket.async_connect(to, asio::use_awaitable);
    nonces = co_await introduce(attempt->socket, request);
  } catch (const std::exception&) {
    attempt->timer.cancel();
    if (attempt->is_late) {
      throw Error(ErrorCode::timeout, fmt::format("no answer within {} s", limit_s));
    }
    throw;
  }
  attempt->is_over = true;
  attempt->timer.cancel();
  co_return Greeted{std::move(attempt->socket), nonces, End::client};
}

}  // namespace muster::collectives::tcp
