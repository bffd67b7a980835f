#pragma once

#include <csignal>
#include <string>
#include <vector>

#include <sys/types.h>

#include "collectives/bootstrap/ticket.hpp"
#include "collectives/net/fd.hpp"
#include "launcher/placement.hpp"

namespace muster::launcher {

/// A rank that was started, with the launcher's ends of its channels. Dropping it does not end it.
struct RankProcess {
  int rank = 0;
  pid_t pid = 0;
  collectives::Fd pidfd;    // readable when it has ended
  collectives::Fd control;  // packets, see runtime/control/packet_socket.hpp
  collectives::Fd out;      // what it writes to standard output; does not block
  collectives::Fd err;      // and to standard error
  collectives::Fd trace;    // its flight recorder, for reading
};

struct RankLaunch {
  std::string program;
  std::vector<std::string> arguments;  // without the program's name
  int rank = 0;
  int size = 1;
  collectives::Ticket ticket;
  Cpus cpus;               // empty: those of the launcher
  sigset_t signal_mask{};  // the mask the rank begins with
  // What this process had before it raised its own limit of open files.
  unsigned long open_files = 0;
};

/// Starts one rank in a process group of its own, with nothing on standard input. It is killed by
/// the kernel when the calling thread ends, however it ends. The ticket lies in a pipe that only
/// the rank reads. Error(io) names the rank, the program and the reason.
RankProcess start_rank(const RankLaunch& launch);

/// Makes room for the descriptors of `ranks` ranks and returns the limit there was before.
/// Error(config) names need and limit.
unsigned long make_room_for_files(int ranks);

}  // namespace muster::launcher
