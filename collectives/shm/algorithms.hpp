#pragma once

#include "collectives/call.hpp"
#include "collectives/shm/lane.hpp"

/// The collectives over shared memory. The lane's round is open; on return the result is in place,
/// and nobody reads this rank's views any more.
///
/// n ranks, S = bytes of the larger view. "Symmetric" means memory from the communicator.
namespace muster::collectives::shm {

/// What happens depends on size and place, never on values; the result is the same by every path:
///
///   S <= 40 B             each rank's numbers travel in its arrive line          1 sync
///   small, one-shot       each copies its input to staging, each reduces all     1 sync
///   symmetric, push       rank j reduces slice j of the n inputs and writes it
///                         to the n outputs: 2S bytes moved per rank, no copies   2 syncs
///   private, staged       the same by way of staging, in chunks (StagedAllReduce)
void all_reduce(Lane& lane, const Call& call);

/// Symmetric input: each rank copies the n shares from where they are, S read + S written. Else
/// through staging, in chunks.
void all_gather(Lane& lane, const Call& call);

/// Symmetric input: each rank reduces its share straight from the n inputs, S (1 + 1/n) moved. Else
/// through staging, in chunks.
void reduce_scatter(Lane& lane, const Call& call);

/// Symmetric data at the root: each rank copies from there. Else through the root's staging.
void broadcast(Lane& lane, const Call& call);

/// All ranks have come.
void barrier(Lane& lane);

}  // namespace muster::collectives::shm
