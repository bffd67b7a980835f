#pragma once

#include "collectives/call.hpp"
#include "collectives/shm/lane.hpp"

/// The collectives over shared memory. The lane's round or message is open; on return the result is
/// in place, and nobody reads this rank's views any more.
///
/// n ranks, S = bytes of the larger view. "Symmetric" means memory from the communicator.
namespace muster::collectives::shm {

/// What happens depends on size and place, never on values; the result is the same by every path:
///
///   S <= 40 B             each rank's numbers travel in its arrive line          1 sync
///   small, one-shot       each copies its input to staging, each reduces all     1 sync
///   symmetric, push       rank j reduces slice j of the n inputs and writes it
///                         to the n outputs: 2S bytes moved per rank, no copies   2 syncs
///   private, direct       the same, inputs and results read where they are (DirectReduction)
///   private, staged       the same by way of staging, in chunks (StagedReduction)
///
/// "Direct" needs the ranks to reach each other's private memory (shm/private_memory.hpp), which
/// the group finds out when it is made; staging is for where they do not.
void all_reduce(Lane& lane, const Call& call);
/// By the same paths, but only the root's output is written: every rank still reduces its slice.
void reduce(Lane& lane, const Call& call);

/// In all that follows, up to kSmallBytes each rank copies what the others need to its arrive line
/// or staging before it comes, and is done after one sync.

/// Symmetric inputs: each rank copies the n shares from where they are, S read + S written.
/// Symmetric outputs: each writes its share to where it belongs, as many. Private ones are read
/// directly, or go through staging in chunks.
void all_gather(Lane& lane, const Call& call);
void all_gather_v(Lane& lane, const Call& call);

/// Symmetric input: each rank reduces its share straight from the n inputs, S (1 + 1/n) moved. Else
/// directly, tile by tile, or through staging, in chunks.
void reduce_scatter(Lane& lane, const Call& call);
void reduce_scatter_v(Lane& lane, const Call& call);

/// Data at the root that is symmetric or reached directly: each rank copies from there. Else
/// through the root's staging. Small data the root shows, and goes on.
void broadcast(Lane& lane, const Call& call);
/// Is `call` one after which a rank may be up to kMaxLead calls ahead of others?
bool may_lead(const Call& call) noexcept;

/// Output at the root that is reached: each rank writes its share there. Symmetric inputs: the root
/// copies from there. Else through the staging of each.
void gather(Lane& lane, const Call& call);

/// Input at the root that is reached: each rank copies its share from there. Symmetric outputs: the
/// root writes there. Else through the root's staging.
void scatter(Lane& lane, const Call& call);

/// As all_gather: inputs are read, or else outputs written, in place where they are reached. The
/// counts of all_to_all_v are exchanged and compared first, all n^2 by every rank.
void all_to_all(Lane& lane, const Call& call);
void all_to_all_v(Lane& lane, const Call& call);

/// No round of the lane, but messages between pairs of ranks: through the sender's ring for the
/// receiver, in pieces of up to kRingSlot. What is longer than the ring and reached at the sender
/// is read there instead, and the sender waits for that. Sending and receiving go on side by side.
void send_receive(Lane& lane, const Call& call);

/// All ranks have come.
void barrier(Lane& lane);

}  // namespace muster::collectives::shm
