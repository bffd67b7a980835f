#include "runtime/control/launcher_link.hpp"

#include <charconv>
#include <cstdlib>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "kernels/base/error.hpp"
#include "kernels/base/log.hpp"
#include "runtime/control/packet_socket.hpp"

namespace muster::runtime {
namespace {

constexpr double kSendLimitS = 5.0;
constexpr const char* kControlVariable = "MUSTER_CONTROL_FD";

void warn_unless_sent(Sent sent) {
  if (sent == Sent::would_block) {
    log_warning("control: the launcher takes no messages; one was left out");
  }
}

}  // namespace

collectives::Fd take_control_socket() {
  const char* const value = std::getenv(kControlVariable);
  if (value == nullptr) return {};
  const std::string_view text = value;
  int number = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_number = error == std::errc{} && end == text.data() + text.size() && number >= 0;
  struct stat status = {};
  if (!is_number || ::fstat(number, &status) != 0 || !S_ISSOCK(status.st_mode)) {
    throw Error(ErrorCode::config,
                fmt::format("{}=\"{}\" is not the number of an open socket; only the launcher sets "
                            "it, unset it",
                            kControlVariable, text));
  }
  ::unsetenv(kControlVariable);
  collectives::close_on_exec(number);
  return collectives::Fd(number);
}

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
  warn_unless_sent(send_within(socket_.number(), message, kSendLimitS));
}

void LauncherLink::send_progress(const ProgressMessage& message) {
  const auto bytes = encode_progress(message);
  if (message.is_due) {
    warn_unless_sent(send_within(socket_.number(), bytes, kSendLimitS));
  } else {
    send_now(socket_.number(), bytes);
  }
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
