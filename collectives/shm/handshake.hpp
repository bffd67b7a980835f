#pragma once

#include <cstddef>
#include <vector>

#include <sys/types.h>

#include "collectives/backends.hpp"
#include "collectives/net/fd.hpp"
#include "kernels/base/deadline.hpp"

namespace muster::collectives::shm {

/// What a rank learned about another one on its host.
struct Neighbour {
  Fd file;                // its segment; not open for this rank itself
  std::size_t bytes = 0;  // how long it can be
  pid_t pid = 0;
};

/// Hands this rank's segment to every other rank of the group and receives theirs.
///
/// Each pair meets on a socket without a place in the file system, of a random name that the store
/// publishes with a random token. Whoever connects shows the token of the other side and is
/// answered with its own, so both know that the peer reads the job's store; and both ask the kernel
/// whether the peer runs as the same user. Nothing is left behind, whenever a rank dies.
///
/// `file` is this rank's segment, of up to `bytes`. Returns one entry per rank. Errors: timeout and
/// peer_lost name the rank; unsupported when ranks cannot see each other (network or pid
/// namespaces).
std::vector<Neighbour> exchange_segments(const GroupSpec& group, Store& store, const Fd& file,
                                         std::size_t bytes, Deadline deadline);

}  // namespace muster::collectives::shm
