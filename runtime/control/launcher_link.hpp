#pragma once

#include <functional>
#include <string_view>
#include <thread>

#include "collectives/net/fd.hpp"
#include "runtime/control/message.hpp"

namespace muster::runtime {

/// What a rank does when the launcher speaks; called on the link's own thread.
struct LauncherOrders {
  std::function<void()> stop;                          // finish the step, save, leave
  std::function<void(std::string_view reason)> abort;  // a peer has failed: leave now
  std::function<void()> lost;                          // the launcher is gone: leave now
};

/// A rank's end of its channel to the launcher. A thread listens until destroyed; any thread may
/// send.
class LauncherLink {
 public:
  LauncherLink(collectives::Fd socket, LauncherOrders orders);
  LauncherLink(const LauncherLink&) = delete;
  LauncherLink& operator=(const LauncherLink&) = delete;
  ~LauncherLink();

  /// For what must arrive: waits up to five seconds for room. A launcher that is gone is not an
  /// error here, since `lost` deals with it.
  void send(const Message& message);
  /// For what the next message replaces anyway: left out when there is no room.
  void send_if_room(const Message& message);

 private:
  void listen(const std::stop_token& stop);
  void obey(const Message& message);

  collectives::Fd socket_;
  LauncherOrders orders_;
  std::jthread listener_;
};

}  // namespace muster::runtime
