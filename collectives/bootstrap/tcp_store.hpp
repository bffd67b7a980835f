#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "collectives/bootstrap/secret.hpp"
#include "collectives/bootstrap/store.hpp"
#include "collectives/bootstrap/store_protocol.hpp"
#include "collectives/net/endpoint.hpp"
#include "collectives/net/socket.hpp"

namespace muster::collectives {

/// A client of TcpStoreServer. Any thread may call: calls that overlap use a connection each, which
/// are kept for later calls.
class TcpStore final : public Store {
 public:
  /// Connects, trying again until the deadline since the server may start later.
  ///
  /// Errors: config when the server's secret is not ours (it is then refused, at once); timeout
  /// names the address, each reason, and for how long it was tried.
  TcpStore(const Endpoint& server, const Secret& secret, Deadline deadline);

  /// How long the server may take to answer set() and add(), and get() beyond its own deadline.
  static constexpr double kAnswerLimitS = 30.0;

  void set(std::string_view key, std::string_view value) override;
  std::string get(std::string_view key, Deadline deadline) override;
  std::int64_t add(std::string_view key, std::int64_t delta) override;

 private:
  StoreResponse ask(const StoreRequest& request, double wait_s);
  Socket take_connection();
  void keep_connection(Socket socket);

  Endpoint server_;
  Secret secret_;
  std::mutex mutex_;  // guards idle_
  std::vector<Socket> idle_;
};

}  // namespace muster::collectives
