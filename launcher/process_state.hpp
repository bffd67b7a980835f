#pragma once

#include <string>

#include <sys/types.h>

namespace muster::launcher {

/// What the kernel says of a process of this host.
struct ProcessState {
  char code = '?';    // as in /proc/PID/stat: R, S, D, T, t, Z; '?': there is none
  std::string where;  // where in the kernel it sleeps; empty where that is not told

  bool is_stopped() const noexcept { return code == 'T' || code == 't'; }
  bool is_gone() const noexcept { return code == '?' || code == 'Z' || code == 'X'; }
};
ProcessState state_of(pid_t process);

/// "T (stopped)", "S (sleeping in futex_wait_queue)", "gone".
std::string describe(const ProcessState& state);

/// Whether it handles the signal; one that does not would be ended by it.
bool handles_signal(pid_t process, int signal);

}  // namespace muster::launcher
