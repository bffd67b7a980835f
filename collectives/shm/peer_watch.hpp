#pragma once

#include <vector>

#include <poll.h>
#include <sys/types.h>

#include "collectives/net/fd.hpp"

namespace muster::collectives::shm {

/// Holds on to the processes of a group's ranks, so that their end is seen. A process is known by a
/// descriptor: a new process with an old number is not mistaken for it.
class PeerWatch {
 public:
  PeerWatch() = default;
  /// `processes[r]` is the process of rank r. Error(peer_lost) when one is gone already,
  /// Error(unsupported) when this system cannot watch it.
  explicit PeerWatch(const std::vector<pid_t>& processes);

  /// One entry per rank for ::poll: an entry is readable once its process has ended. Each thread
  /// polls a set of its own.
  std::vector<pollfd> poll_set() const;

 private:
  std::vector<Fd> processes_;
};

}  // namespace muster::collectives::shm
