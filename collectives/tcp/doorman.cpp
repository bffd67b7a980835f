#include "collectives/tcp/doorman.hpp"

#include <chrono>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "collectives/bootstrap/handshake.hpp"
#include "collectives/net/resolve.hpp"
#include "kernels/base/error.hpp"
#include "kernels/base/log.hpp"

namespace muster::collectives::tcp {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kStrangersShare{500};  // what every stranger has, even in a flood
constexpr milliseconds kPause{20};

[[noreturn]] void refuse(std::string_view why) {
  throw Error(ErrorCode::io, why);
}

}  // namespace

/// Shared by the greeting's coroutine, its pending timer and the list; all on one thread.
struct Doorman::Stranger {
  Stranger(Tcp::socket accepted, std::string peer_name)
      : socket(std::move(accepted)), timer(socket.get_executor()), peer(std::move(peer_name)) {}

  Tcp::socket socket;
  asio::steady_timer timer;
  std::string peer;
  bool is_greeted = false;
  bool has_wrong_secret = false;
  Nonces nonces{};
  Deadline::Clock::time_point since = Deadline::Clock::now();

  void close() noexcept {
    ErrorStatus ignored;  // closing is all we want
    socket.close(ignored);
    timer.cancel(ignored);
  }
};

Doorman::Doorman(Setup setup, const std::vector<std::string>& addresses)
    : setup_(std::move(setup)) {
  for (const std::string& address : addresses) {
    acceptors_.push_back(listen_on(setup_.context, address));
  }
}

Doorman::~Doorman() = default;

std::vector<Tcp::endpoint> Doorman::endpoints() const {
  std::vector<Tcp::endpoint> all;
  for (const Tcp::acceptor& acceptor : acceptors_) all.push_back(acceptor.local_endpoint());
  return all;
}

void Doorman::open() {
  for (Tcp::acceptor& acceptor : acceptors_) {
    asio::co_spawn(setup_.context, accept(acceptor), asio::detached);
  }
}

asio::awaitable<void> Doorman::accept(Tcp::acceptor& acceptor) {
  while (true) {
    ErrorStatus status;
    co_await make_room();
    Tcp::socket socket =
        co_await acceptor.async_accept(asio::redirect_error(asio::use_awaitable, status));
    if (status == asio::error::operation_aborted) co_return;
    if (status) {  // out of descriptors, or the client has gone again
      log_debug(fmt::format("tcp: accept failed: reason=\"{}\"", status.message()));
      co_await pause();
    } else {
      begin_greeting(std::move(socket));
    }
  }
}

asio::awaitable<void> Doorman::pause() {
  asio::steady_timer timer(setup_.context, kPause);
  co_await timer.async_wait(asio::use_awaitable);
}

asio::awaitable<void> Doorman::make_room() {
  while (strangers_.size() >= setup_.limits.most) {
    Stranger& oldest = *strangers_.front();
    if (Deadline::Clock::now() - oldest.since >= kStrangersShare) oldest.close();
    co_await pause();
  }
}

void Doorman::begin_greeting(Tcp::socket socket) {
  ErrorStatus status;
  const Tcp::endpoint peer = socket.remote_endpoint(status);
  if (status) return;  // gone already
  auto stranger = std::make_shared<Stranger>(std::move(socket), to_string(peer));
  stranger->timer.expires_at(Deadline::after_seconds(setup_.limits.handshake_s).when());
  stranger->timer.async_wait([stranger](const ErrorStatus& cancelled) {
    if (!cancelled && !stranger->is_greeted) stranger->close();
  });
  const auto place = strangers_.insert(strangers_.end(), stranger);
  asio::co_spawn(setup_.context, greet(std::move(stranger), place), asio::detached);
}

asio::awaitable<void> Doorman::greet(std::shared_ptr<Stranger> stranger,
                                     Strangers::iterator place) {
  try {
    prepare_accepted(stranger->socket);
    const Introduction introduction = co_await shake_hands(*stranger);
    stranger->is_greeted = true;
    setup_.admit(introduction, {std::move(stranger->socket), stranger->nonces, End::server});
  } catch (const std::exception& error) {
    const std::string text =
        fmt::format("tcp: connection refused: peer={} reason=\"{}\"", stranger->peer, error.what());
    stranger->has_wrong_secret ? warn(text) : log_debug(text);
  }
  strangers_.erase(place);
  stranger->close();
}

asio::awaitable<Introduction> Doorman::shake_hands(Stranger& stranger) {
  const auto read = [&stranger](std::byte* data, std::size_t bytes) {
    return asio::async_read(stranger.socket, asio::buffer(data, bytes), asio::use_awaitable);
  };
  const auto write = [&stranger](const auto& bytes) {
    return asio::async_write(stranger.socket, asio::buffer(bytes), asio::use_awaitable);
  };
  ServerHandshake handshake(setup_.secret);
  collectives::Hello hello{};
  co_await read(hello.data(), kMagicBytes);
  if (!ServerHandshake::is_hello(std::span(hello).first<kMagicBytes>())) {
    refuse("it does not speak this protocol");
  }
  co_await read(hello.data() + kMagicBytes, hello.size() - kMagicBytes);
  const Challenge challenge = handshake.challenge(hello);
  stranger.nonces = nonces_of(hello, challenge);
  co_await write(challenge);
  Answer answer{};
  co_await read(answer.data(), answer.size());
  const Verdict verdict = handshake.check(answer);
  if (verdict != Verdict::accepted) {
    stranger.has_wrong_secret = true;
    co_await write(kRefusal);
    refuse(verdict == Verdict::wrong_secret ? "it does not know this job's secret"
                                            : "it holds another job's secret");
  }
  co_await write(kWelcome);
  IntroductionBytes bytes{};
  co_await read(bytes.data(), bytes.size());
  const auto introduction = setup_.introducer.open(bytes, challenge);
  const bool is_ours = introduction && introduction->to == setup_.rank &&
                       introduction->from < setup_.size && introduction->from != setup_.rank;
  if (is_ours) co_await write(kWelcome);
  if (!is_ours) co_await write(kRefusal);
  if (!is_ours) refuse("it looks for another rank or group");
  co_return *introduction;
}

void Doorman::warn(const std::string& text) {
  if (warnings_left_ == 0) return log_debug(text);
  --warnings_left_;
  log_warning(text);
  if (warnings_left_ == 0) log_warning("tcp: further refused connections are logged as debug");
}

}  // namespace muster::collectives::tcp
