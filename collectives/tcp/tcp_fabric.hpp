#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "collectives/backends.hpp"
#include "collectives/tcp/group_state.hpp"
#include "collectives/tcp/patience.hpp"
#include "collectives/tcp/service.hpp"
#include "collectives/transport/transport.hpp"

namespace muster::collectives::tcp {

struct TcpOptions {
  /// The interfaces to listen on, as choose_interfaces() takes them. Empty: loopback where all
  /// ranks of the group are on one host, else those for peers.
  std::string interfaces;
  int sockets = 1;  // data connections per peer and lane, 1 to 8
  std::size_t most_strangers = 64;
  double handshake_limit_s = 5.0;
  bool encrypts = false;  // all connections; the same on all ranks

  /// MUSTER_INTERFACE, MUSTER_TCP_SOCKETS and MUSTER_TCP_ENCRYPT, which decides in place of
  /// `encrypts` where it is set. Error(config) names the variable.
  static TcpOptions from_environment(bool encrypts);
};

/// Moves messages between ranks over TCP, between hosts or inside one.
///
/// Each rank listens on its interfaces' addresses, publishes them in the store under
/// comm/GROUP/RANK/tcp, and has one control connection with every other rank and `sockets` data
/// connections per lane with those it exchanges messages with. Whoever connects proves to know the
/// job's secret before anything else; what follows is neither encrypted nor sealed unless
/// `encrypts` (seal.hpp says how). A rank without cores of its own (cores_per_rank 0) does not
/// poll.
///
/// A rank that ends without destroying its fabric is lost to all others at once; a host that goes
/// silent, within about 20 s. One thread of its own.
class TcpFabric final : public Fabric {
 public:
  /// Collective over the group. Error(timeout) names the ranks that did not come and why,
  /// invalid_argument when the group has no secret, config for a bad choice of interfaces or ranks
  /// that do not all encrypt.
  TcpFabric(const GroupSpec& group, Store& store, const TcpOptions& options, Deadline deadline);

  std::string_view name() const noexcept override { return "tcp"; }
  int rank() const noexcept override { return state_.rank(); }
  int size() const noexcept override { return state_.size(); }
  std::string describe(int of_rank) const override { return state_.describe(of_rank); }
  std::unique_ptr<Transport> open_lane(int lane) override;
  void abort(std::string_view reason) noexcept override;
  void abort_mismatch(int lane, std::string_view text) noexcept override;
  void heartbeat() noexcept override;

 private:
  GroupState state_;
  const WaitPolicy policy_;
  std::array<std::atomic<bool>, Communicator::kMaxLanes> is_open_{};
  std::atomic<std::int64_t> last_heartbeat_ms_{0};
  Service service_;
};

}  // namespace muster::collectives::tcp
