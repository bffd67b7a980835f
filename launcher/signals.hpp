#pragma once

#include <csignal>
#include <optional>
#include <string>

#include "collectives/net/fd.hpp"

namespace muster::launcher {

/// Ctrl-C, SIGTERM and a hang-up of the terminal as something to poll. Blocks these signals in this
/// thread and in those it starts afterwards; the destructor gives them back. A hang-up that was
/// ignored when muster started (nohup) stays ignored.
class StopSignals {
 public:
  StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;
  ~StopSignals();

  /// Readable when a signal waits.
  int number() const noexcept { return fd_.number(); }
  /// The next waiting signal.
  std::optional<int> take();
  /// The mask before, which programs started from here should have.
  const sigset_t& mask_before() const noexcept { return before_; }

 private:
  sigset_t before_{};
  collectives::Fd fd_;
};

/// "SIGKILL", or "signal 40" for one without a name.
std::string signal_name(int number);

}  // namespace muster::launcher
