#include "collectives/bootstrap/tcp_store.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

#include <fmt/format.h>

#include "collectives/bootstrap/handshake.hpp"
#include "collectives/net/frame.hpp"
#include "kernels/base/error.hpp"

namespace muster::collectives {
namespace {

using Seconds = std::chrono::duration<double>;

constexpr Seconds kFirstPause{0.02};
constexpr Seconds kLongestPause{1.0};
constexpr double kHandshakeLimitS = 10.0;

[[noreturn]] void refuse(const Endpoint& server, std::string_view problem) {
  throw Error(ErrorCode::config,
              fmt::format("store at {}: {}; every rank of a job needs the same secret",
                          to_string(server), problem));
}

Socket connect_once(const Endpoint& server, const Secret& secret, Deadline deadline) {
  Socket socket = Socket::connect(server, deadline);
  ClientHandshake handshake(secret);
  socket.send(handshake.hello(), {}, deadline);
  Challenge challenge;
  socket.receive(challenge, deadline);
  socket.send(handshake.answer(challenge), {}, deadline);
  if (!handshake.is_server_known()) refuse(server, "it does not know this job's secret");
  Welcome welcome;
  socket.receive(welcome, deadline);
  if (welcome != kWelcome) refuse(server, "it refused our secret");
  return socket;
}

Deadline earlier(Deadline a, Deadline b) {
  return a.when() < b.when() ? a : b;
}

Socket connect(const Endpoint& server, const Secret& secret, Deadline deadline) {
  const auto start = Deadline::Clock::now();
  Seconds pause = kFirstPause;
  while (true) {
    try {
      return connect_once(server, secret,
                          earlier(deadline, Deadline::after_seconds(kHandshakeLimitS)));
    } catch (const Error& error) {
      if (error.code() == ErrorCode::config) throw;
      const Seconds left = deadline.remaining();
      if (left <= pause) {
        const Seconds tried = Deadline::Clock::now() - start;
        throw Error(ErrorCode::timeout,
                    fmt::format("no store at {} after {:.1f} s of trying; last: {}",
                                to_string(server), tried.count(), error.what()));
      }
    }
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, kLongestPause);
  }
}

}  // namespace

TcpStore::TcpStore(const Endpoint& server, const Secret& secret, Deadline deadline)
    : server_(server), secret_(secret) {
  idle_.push_back(connect(server, secret, deadline));
}

Socket TcpStore::take_connection() {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      Socket socket = std::move(idle_.back());
      idle_.pop_back();
      return socket;
    }
  }
  try {
    return connect_once(server_, secret_, Deadline::after_seconds(kHandshakeLimitS));
  } catch (const Error& error) {
    throw Error(ErrorCode::peer_lost, fmt::format("the store is gone: {}", error.what()));
  }
}

void TcpStore::keep_connection(Socket socket) {
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(socket));
}

StoreResponse TcpStore::ask(const StoreRequest& request, double wait_s) {
  const Deadline deadline = Deadline::after_seconds(wait_s + kAnswerLimitS);
  const auto describe = [&] { return fmt::format("asking the store for \"{}\"", request.key); };
  StoreResponse response = with_context(describe, [&] {
    Socket socket = take_connection();
    send_frame(socket, encode(request), deadline);
    StoreResponse answer =
        decode_response(request.op, receive_frame(socket, kMaxFrameBytes, deadline));
    keep_connection(std::move(socket));
    return answer;
  });
  if (response.status == StoreStatus::refused) {
    throw Error(ErrorCode::invalid_argument, response.value);
  }
  return response;
}

void TcpStore::set(std::string_view key, std::string_view value) {
  check_store_call(key, value.size());
  ask({.op = StoreOp::set, .key = std::string(key), .value = std::string(value)}, 0.0);
}

std::int64_t TcpStore::add(std::string_view key, std::int64_t delta) {
  check_store_call(key, 0);
  return ask({.op = StoreOp::add, .key = std::string(key), .value = {}, .number = delta}, 0.0)
      .number;
}

std::string TcpStore::get(std::string_view key, Deadline deadline) {
  check_store_call(key, 0);
  const auto start = Deadline::Clock::now();
  while (true) {
    const Seconds wait = deadline.remaining();
    const auto wait_ms = static_cast<std::int64_t>(std::ceil(wait.count() * 1e3));
    StoreResponse response =
        ask({.op = StoreOp::get, .key = std::string(key), .value = {}, .number = wait_ms},
            wait.count());
    if (response.status == StoreStatus::ok) return std::move(response.value);
    if (deadline.has_passed()) break;
  }
  const Seconds waited = Deadline::Clock::now() - start;
  throw Error(ErrorCode::timeout,
              fmt::format("store key \"{}\" was not set within {:.1f} s", key, waited.count()));
}

}  // namespace muster::collectives
