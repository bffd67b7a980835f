#pragma once

#include <memory>
#include <string>
#include <vector>

#include "collectives/bootstrap/secret.hpp"
#include "collectives/net/endpoint.hpp"
#include "collectives/tcp/frame.hpp"
#include "collectives/tcp/group_state.hpp"
#include "kernels/base/deadline.hpp"

namespace muster::collectives::tcp {

/// The one thread of a fabric beside its callers: it answers the door, makes connections, and
/// exchanges control frames, so that a rank hears of an abort, a death or a wish for a connection
/// while it waits for somebody else or computes. It moves no messages.
///
/// The lower of two ranks connects to the higher one, always: the control connection when the group
/// is made, data connections when the first message of a lane is posted on either side (the higher
/// rank then asks for them).
class Service {
 public:
  struct Setup {
    GroupState& state;  // outlives the service
    Secret secret;
    bool encrypts = false;
    std::vector<std::string> addresses;  // numeric, to listen on
    int sockets = 1;                     // data connections per peer and lane
    std::size_t most_strangers = 64;
    double handshake_limit_s = 5.0;
  };

  /// Listens at once. Error(io).
  explicit Service(const Setup& setup);
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;
  /// Says goodbye to every peer, for at most 0.3 s.
  ~Service();

  std::vector<Endpoint> endpoints() const;

  // Any thread may call these.

  /// Makes the control connection to a higher rank: tries its addresses in turn, again and again,
  /// and keeps to the first where that very rank answers.
  void call(int peer, const std::vector<Endpoint>& candidates);
  /// Returns once there is a control connection to every peer. Error(timeout) names the missing
  /// ones and what went wrong; peer_lost names one that has ended or aborted meanwhile.
  void await_everyone(Deadline deadline);
  /// Makes the data connections to a peer; they come by the inbox of the lane.
  void connect(int peer, int lane);
  void tell_everyone(const Control& control);
  /// Tells everyone, and again when leaving: some may hear of that before they hear from others.
  void tell_mismatch(const Control& control);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace muster::collectives::tcp
