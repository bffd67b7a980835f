#pragma once

#include <csignal>

namespace muster::collectives::trace {

/// The signal on which a rank keeps its stack in its record.
inline constexpr int kStackSignal = SIGUSR2;

/// From now on kStackSignal makes the thread that gets it keep its stack in this process's record.
/// To be called before the process has other threads: unwinding is prepared here, so that the
/// handler allocates nothing.
void keep_stacks_on_signal();

}  // namespace muster::collectives::trace
