#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "collectives/bootstrap/secret.hpp"
#include "collectives/bootstrap/store_table.hpp"
#include "collectives/net/asio.hpp"
#include "kernels/base/deadline.hpp"

namespace muster::collectives {

/// One client's connection as the server sees it. Shared by the session's coroutine, its pending
/// timer, and the server's list of strangers; all on the server's thread.
struct StoreConnection {
  StoreConnection(Tcp::socket accepted, std::string peer_name)
      : socket(std::move(accepted)), timer(socket.get_executor()), peer(std::move(peer_name)) {}

  Tcp::socket socket;
  asio::steady_timer timer;
  std::string peer;
  bool is_known = false;  // has proved that it knows the secret
  Deadline::Clock::time_point since = Deadline::Clock::now();

  void close() noexcept;
};

/// What a session works on; outlives every session.
struct StoreService {
  Secret secret;
  double handshake_limit_s;
  StoreTable table;
  int warnings_left = 20;  // strangers must not be able to fill a log

  void warn(std::string_view text);
};

/// Takes the client through the handshake, within the limit of time. Returns is_known.
asio::awaitable<bool> greet(std::shared_ptr<StoreConnection> client, StoreService& service);

/// Answers the client's requests until it leaves.
asio::awaitable<void> serve(std::shared_ptr<StoreConnection> client, StoreService& service);

}  // namespace muster::collectives
