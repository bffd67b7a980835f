#pragma once

#include <string>

#include "runtime/world/identity.hpp"
#include "runtime/world/world.hpp"

namespace muster::runtime {

struct JoinOptions {
  std::string build_id;      // must be the same on every rank
  double timeout_s = 300.0;  // until all ranks have joined
  bool keep_mpi = false;     // under mpirun: World::mpi stays open until leave_world()
};

/// Enters the job: finds the store (or serves it, on rank 0 where no launcher does), checks that
/// ranks 0 to size - 1 are there exactly once with one job, size and build, and fills World.
/// Collective: returns once everyone has joined.
///
/// Errors: config when the ranks contradict each other, on every rank with the same text, or when
/// secret, address or plug-in are missing or wrong; timeout names the ranks that did not come;
/// peer_lost when the store vanished.
World join_world(const Identity& identity, const JoinOptions& options);

/// To be called by every rank that ends well, as the last use of its store: rank 0, where it serves
/// the store, waits for the others so that none of them finds the store gone. Rank 0 logs who did
/// not come within `timeout_s`. Then MPI is left, where it was kept open, which waits for all ranks
/// without a limit; all groups in it are gone by now.
///
/// A rank that ends in trouble does not call this. Where MPI was kept open mpirun then stops the
/// others, and returns the exit code of the rank that ended first, 128 + N after signal N, as it
/// does where MPI was left at once.
void leave_world(World& world, double timeout_s);

}  // namespace muster::runtime
