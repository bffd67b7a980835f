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

/// The socket whose number stands in MUSTER_CONTROL_FD, which is then unset, and the socket closed
/// on exec: programs that this rank starts have no part in it. Not open without the variable: no
/// launcher of ours started this process. Error(config) when it names no socket. To be called
/// before the process has other threads.
collectives::Fd take_control_socket();

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
  /// Uses no heap. A message that is not due is left out when there is no room: the next one
  /// replaces it anyway.
  void send_progress(const ProgressMessage& message);

 private:
  void listen(const std::stop_token& stop);
  void obey(const Message& message);

  collectives::Fd socket_;
  LauncherOrders orders_;
  std::jthread listener_;
};

}  // namespace muster::runtime
