#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "collectives/bootstrap/secret.hpp"
#include "collectives/net/endpoint.hpp"

namespace muster::collectives {

struct StoreServerOptions {
  /// Listens on every local address that the host stands for; where it is a name that this host
  /// takes for loopback but others may not, also on those of `interfaces`. Port 0: a free one.
  Endpoint listen = {"127.0.0.1", 0};
  std::string interfaces = {};  // as choose_interfaces() takes them; empty: all there are
  /// Connections that have not proved to know the secret: how many at once, and for how long.
  std::size_t max_strangers = 64;
  double handshake_limit_s = 5.0;
};

/// The store of a job: serves TcpStore clients from a thread of its own until destroyed; clients
/// then get peer_lost. It lives in the launcher, or in rank 0 where there is no launcher.
///
/// Strangers (connections before the end of the handshake) are bounded in number, time and memory:
/// at most `max_strangers`, each with a few hundred bytes and `handshake_limit_s`; when all places
/// are taken, the oldest is closed once it has had half a second, so that a scan or a flood of
/// half-open connections delays a rank but never keeps it out. A wrong secret is logged.
class TcpStoreServer {
 public:
  /// Listens at once: the constructor's return means that clients can connect.
  /// Error(io) names the address and why nobody can listen there.
  TcpStoreServer(const Secret& secret, const StoreServerOptions& options);
  TcpStoreServer(const TcpStoreServer&) = delete;
  TcpStoreServer& operator=(const TcpStoreServer&) = delete;
  ~TcpStoreServer();

  /// Numeric address and the real port.
  const Endpoint& endpoint() const noexcept;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace muster::collectives
