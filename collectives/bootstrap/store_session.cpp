#include "collectives/bootstrap/store_session.hpp"

#include <algorithm>
#include <chrono>
#include <span>
#include <vector>

#include <fmt/format.h>

#include "collectives/bootstrap/handshake.hpp"
#include "collectives/bootstrap/store_protocol.hpp"
#include "collectives/net/frame.hpp"
#include "kernels/base/error.hpp"
#include "kernels/base/log.hpp"

namespace muster::collectives {
namespace {

using std::chrono::milliseconds;

constexpr std::int64_t kLongestWaitMs = std::int64_t{7} * 24 * 3600 * 1000;

template <typename Bytes>
asio::awaitable<void> read_into(StoreConnection& client, Bytes& bytes) {
  co_await asio::async_read(client.socket, asio::buffer(bytes), asio::use_awaitable);
}

template <typename Bytes>
asio::awaitable<void> write_from(StoreConnection& client, const Bytes& bytes) {
  co_await asio::async_write(client.socket, asio::buffer(bytes), asio::use_awaitable);
}

void close_after(const std::shared_ptr<StoreConnection>& client, double seconds) {
  client->timer.expires_at(Deadline::after_seconds(seconds).when());
  client->timer.async_wait([client](const ErrorStatus& status) {
    if (!status && !client->is_known) client->close();
  });
}

asio::awaitable<Verdict> shake_hands(StoreConnection& client, const Secret& secret) {
  ServerHandshake handshake(secret);
  Hello hello{};
  const std::span<std::byte> rest = std::span(hello).subspan(kMagicBytes);
  co_await asio::async_read(client.socket, asio::buffer(hello, kMagicBytes), asio::use_awaitable);
  if (!ServerHandshake::is_hello(std::span(hello).first<kMagicBytes>())) {
    throw Error(ErrorCode::io, "it does not speak this protocol");
  }
  co_await asio::async_read(client.socket, asio::buffer(rest.data(), rest.size()),
                            asio::use_awaitable);
  const Challenge challenge = handshake.challenge(hello);
  co_await write_from(client, challenge);
  Answer answer{};
  co_await read_into(client, answer);
  const Verdict verdict = handshake.check(answer);
  const Welcome reply = verdict == Verdict::accepted ? kWelcome : kRefusal;
  co_await write_from(client, reply);
  co_return verdict;
}

std::string_view reason(Verdict verdict) {
  return verdict == Verdict::wrong_secret ? "it does not know this job's secret"
                                          : "it holds another job's secret";
}

/// A get that waits: the timer runs out, or the key's wake call or the client's leaving cancels it.
struct PendingGet {
  explicit PendingGet(const Tcp::socket::executor_type& executor) : timer(executor) {}

  asio::steady_timer timer;
  bool is_woken = false;
  bool has_client_left = false;
};

asio::awaitable<void> wait_for_key(StoreConnection& client, StoreTable& table,
                                   const StoreRequest& request) {
  // Shared with the watcher of the socket, whose handler may run after this coroutine has gone on.
  const auto pending = std::make_shared<PendingGet>(client.socket.get_executor());
  pending->timer.expires_after(
      milliseconds(std::clamp<std::int64_t>(request.number, 0, kLongestWaitMs)));
  // The table outlives the io_context, a timer must not: it keeps a weak reference.
  const auto waiting = table.wait(request.key, [weak = std::weak_ptr(pending)] {
    const auto woken = weak.lock();
    if (woken == nullptr) return;
    woken->is_woken = true;
    woken->timer.cancel();
  });
  // A client sends nothing while it waits: readable means that it has closed.
  client.socket.async_wait(Tcp::socket::wait_read, [pending](const ErrorStatus& status) {
    if (status) return;
    pending->has_client_left = true;
    pending->timer.cancel();
  });
  ErrorStatus ignored;  // whether it ran out or was cancelled, the flags say why
  co_await pending->timer.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
  if (!pending->is_woken) table.unwait(waiting);
  if (pending->has_client_left) throw Error(ErrorCode::peer_lost, "it left while it waited");
  client.socket.cancel();
}

asio::awaitable<StoreResponse> execute_get(StoreConnection& client, StoreTable& table,
                                           const StoreRequest& request) {
  if (table.find(request.key) == nullptr && request.number > 0) {
    co_await wait_for_key(client, table, request);
  }
  StoreResponse response;
  if (const std::string* const value = table.find(request.key)) {
    response.value = *value;
  } else {
    response.status = StoreStatus::timeout;
  }
  co_return response;
}

StoreResponse execute_now(StoreTable& table, const StoreRequest& request) {
  StoreResponse response;
  try {
    if (request.op == StoreOp::set) {
      table.set(request.key, request.value);
    } else {
      response.number = table.add(request.key, request.number);
    }
  } catch (const Error& error) {
    response.status = StoreStatus::refused;
    response.value = error.what();
  }
  return response;
}

}  // namespace

void StoreConnection::close() noexcept {
  ErrorStatus ignored;  // closing is all we want
  socket.close(ignored);
  timer.cancel(ignored);
}

void StoreService::warn(std::string_view text) {
  if (warnings_left == 0) return log_debug(text);
  --warnings_left;
  log_warning(text);
  if (warnings_left == 0) log_warning("store: further refused connections are logged as debug");
}

asio::awaitable<bool> greet(std::shared_ptr<StoreConnection> client, StoreService& service) {
  try {
    close_after(client, service.handshake_limit_s);
    const Verdict verdict = co_await shake_hands(*client, service.secret);
    client->is_known = verdict == Verdict::accepted;
    client->timer.cancel();
    if (!client->is_known) {
      service.warn(fmt::format("store: connection refused: peer={} reason=\"{}\"", client->peer,
                               reason(verdict)));
    }
  } catch (const std::exception& error) {
    log_debug(
        fmt::format("store: stranger dropped: peer={} reason=\"{}\"", client->peer, error.what()));
  }
  co_return client->is_known;
}

asio::awaitable<void> serve(std::shared_ptr<StoreConnection> client, StoreService& service) {
  try {
    while (true) {
      FrameHeader header{};
      co_await read_into(*client, header);
      std::vector<std::byte> bytes(frame_payload_bytes(header, kMaxFrameBytes, client->peer));
      co_await read_into(*client, bytes);
      const StoreRequest request = decode_request(bytes);
      StoreResponse response;
      if (request.op == StoreOp::get) {
        response = co_await execute_get(*client, service.table, request);
      } else {
        response = execute_now(service.table, request);
      }
      const std::vector<std::byte> reply = encode(request.op, response);
      const FrameHeader reply_header = frame_header(reply.size());
      co_await write_from(*client, reply_header);
      co_await write_from(*client, reply);
    }
  } catch (const std::exception& error) {
    log_debug(fmt::format("store: client left: peer={} reason=\"{}\"", client->peer, error.what()));
  }
}

}  // namespace muster::collectives
