#include "launcher/signals.hpp"

#include <cerrno>
#include <cstring>

#include <fmt/format.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "kernels/base/error.hpp"

namespace muster::launcher {

StopSignals::StopSignals() {
  sigset_t stops;
  ::sigemptyset(&stops);
  ::sigaddset(&stops, SIGINT);
  ::sigaddset(&stops, SIGTERM);
  struct sigaction hang_up = {};
  ::sigaction(SIGHUP, nullptr, &hang_up);
  if (hang_up.sa_handler != SIG_IGN) ::sigaddset(&stops, SIGHUP);
  ::pthread_sigmask(SIG_BLOCK, &stops, &before_);
  fd_.reset(::signalfd(-1, &stops, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd_.is_open()) {
    throw Error(ErrorCode::io,
                fmt::format("no signal descriptor: {}", collectives::errno_text(errno)));
  }
}

StopSignals::~StopSignals() {
  ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

std::optional<int> StopSignals::take() {
  signalfd_siginfo info = {};
  if (::read(fd_.number(), &info, sizeof info) != sizeof info) return std::nullopt;
  return static_cast<int>(info.ssi_signo);
}

std::string signal_name(int number) {
  const char* const name = ::sigabbrev_np(number);
  return name != nullptr ? fmt::format("SIG{}", name) : fmt::format("signal {}", number);
}

}  // namespace muster::launcher
