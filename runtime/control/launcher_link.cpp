#include "runtime/control/launcher_link.hpp"

#include <utility>

#include <fmt/format.h>
#include <sys/socket.h>

#include "kernels/base/log.hpp"
#include "runtime/control/packet_socket.hpp"

namespace muster::runtime {
namespace {

constexpr double kSendLimitS = 5.0;

}  // namespace

LauncherLink::LauncherLink(collectives::Fd socket, LauncherOrders orders)
    : socket_(std::move(socket)),
      orders_(std::move(orders)),
      listener_([this](const std::stop_token& stop) { listen(stop); }) {}

LauncherLink::~LauncherLink() {
  listener_.request_stop();
  ::shutdown(socket_.number(), SHUT_RD);  // wakes the listener
  listener_.join();
}

void LauncherLink::send(const Message& message) {
  if (send_within(socket_.number(), message, kSendLimitS) == Sent::would_block) {
    log_warning("control: the launcher takes no messages; one was left out");
  }
}

void LauncherLink::send_if_room(const Message& message) {
  send_now(socket_.number(), message);
}

void LauncherLink::listen(const std::stop_token& stop) {
  while (true) {
    try {
      const Received received = receive(socket_.number(), true);
      if (received.is_closed) {
        if (!stop.stop_requested()) orders_.lost();
        return;
      }
      obey(*received.message);
    } catch (const std::exception& error) {
      log_error(fmt::format("control: message ignored: {}", error.what()));
      if (stop.stop_requested()) return;
    }
  }
}

void LauncherLink::obey(const Message& message) {
  if (std::holds_alternative<StopMessage>(message)) orders_.stop();
  if (const auto* const abort = std::get_if<AbortMessage>(&message)) orders_.abort(abort->reason);
}

}  // namespace muster::runtime
