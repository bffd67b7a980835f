#include "collectives/shm/peer_watch.hpp"

#include <cerrno>

#include <fmt/format.h>
#include <sys/syscall.h>

#include "collectives/net/fd.hpp"
#include "kernels/base/error.hpp"

namespace muster::collectives::shm {
namespace {

Fd open_process(std::size_t rank, pid_t process) {
  Fd fd(static_cast<int>(::syscall(SYS_pidfd_open, process, 0)));
  if (fd.is_open()) return fd;
  if (errno == ESRCH) {
    throw Error(ErrorCode::peer_lost,
                fmt::format("rank {} (pid {}) has ended while the group was made", rank, process));
  }
  throw Error(ErrorCode::unsupported,
              fmt::format("cannot watch rank {} (pid {}): pidfd_open: {}; the shm back end needs "
                          "Linux 5.3 and ranks in one pid namespace",
                          rank, process, errno_text(errno)));
}

}  // namespace

PeerWatch::PeerWatch(const std::vector<pid_t>& processes) {
  for (std::size_t rank = 0; rank < processes.size(); ++rank) {
    processes_.push_back(open_process(rank, processes[rank]));
  }
}

std::vector<pollfd> PeerWatch::poll_set() const {
  std::vector<pollfd> set;
  for (const Fd& process : processes_) set.push_back({process.number(), POLLIN, 0});
  return set;
}

}  // namespace muster::collectives::shm
