#pragma once

#include "collectives/algorithms/lane.hpp"
#include "collectives/call.hpp"

/// Collectives over a Transport. Each function does its rank's part of a call in a group of two or
/// more, to the end: when it returns, all it posted has been waited for. Between the ranks of a
/// rooted call every link that carries data one way carries an empty message the other way, so that
/// ranks with different ideas of the call find out, and nobody leaves before its partner has come.
///
/// n ranks, S bytes of the whole vector, L = ceil(log2 n). Costs are those of the busiest rank.
namespace muster::collectives::algorithms {

/// Dissemination: in step k ranks r and r + 2^k meet. L messages.
void barrier(Lane& lane, const Call& call);

/// From the root along a binomial tree: L messages of S.
///
///   0 --> 4    0 --> 2, 4 --> 6    0 --> 1, 2 --> 3, 4 --> 5, 6 --> 7
void broadcast_binomial(Lane& lane, const Call& call);
/// From rank to rank in pieces: S once, after n - 1 pieces.
void broadcast_chain(Lane& lane, const Call& call);
/// A share to each rank along the tree, then all shares round the ring: 2 (n - 1) / n S.
void broadcast_scatter(Lane& lane, const Call& call);

// all_gather and all_gather_v. Each rank sends (n - 1) / n S.

/// Round the ring, n - 1 messages per piece.
void all_gather_ring(Lane& lane, const Call& call);
/// Step k: send to r + k, take from r - k. n - 1 messages.
void all_gather_pairwise(Lane& lane, const Call& call);
/// Blocks double from step to step: L messages, for any n; equal shares only.
void all_gather_bruck(Lane& lane, const Call& call);

// Reductions in rank order, rounded once: every contribution travels as it is.

/// Everybody sends all to everybody and reduces all of it: n - 1 messages of S.
void all_reduce_direct(Lane& lane, const Call& call);
/// As direct, with the contributions gathered by Bruck's algorithm: L messages, (n - 1) S.
void all_reduce_bruck(Lane& lane, const Call& call);
/// Owners reduce their shares and send the results to all: 2 (n - 1) messages per piece,
/// 2 (n - 1) / n S.
void all_reduce_pairwise(Lane& lane, const Call& call);
/// reduce_scatter and reduce_scatter_v: n - 1 messages per piece, (n - 1) / n S.
void reduce_scatter_pairwise(Lane& lane, const Call& call);
/// The root takes everything: n - 1 messages of S there.
void reduce_direct(Lane& lane, const Call& call);
/// Owners reduce their shares and send the results to the root: 2 (n - 1) / n S there.
void reduce_pairwise(Lane& lane, const Call& call);

// Reductions of partial sums, which travel wide (partial.hpp): the same bits on every rank, yet
// added up in another order than above.

/// Step k: ranks 2^k apart exchange what they have. L messages of S, two more if n is no power of
/// two: then ranks beside others let these speak for them.
void all_reduce_doubling(Lane& lane, const Call& call);
/// The same, exchanging halves of halves and back: 2 L messages, 2 (n - 1) / n S.
void all_reduce_halving(Lane& lane, const Call& call);
/// Twice round the ring: 2 (n - 1) messages per piece, 2 (n - 1) / n S.
void all_reduce_ring(Lane& lane, const Call& call);
/// Up a binomial tree to rank 0 and down again: 2 L messages of S.
void all_reduce_tree(Lane& lane, const Call& call);
/// reduce_scatter and reduce_scatter_v round the ring: n - 1 messages per piece, (n - 1) / n S.
void reduce_scatter_ring(Lane& lane, const Call& call);
/// Up a binomial tree to the root: L messages of S.
void reduce_tree(Lane& lane, const Call& call);

/// Between the root and each rank: n - 1 messages at the root.
void gather_direct(Lane& lane, const Call& call);
void scatter_direct(Lane& lane, const Call& call);
/// Along a binomial tree, each rank for its branch: L messages.
void gather_binomial(Lane& lane, const Call& call);
void scatter_binomial(Lane& lane, const Call& call);

/// Step k: send to r + k, take from r - k: n - 1 messages, (n - 1) / n S.
void all_to_all_pairwise(Lane& lane, const Call& call);
/// Blocks travel together, a power of two of ranks at a time: L messages of up to S / 2, or a
/// little more; each block is copied about L times on the way.
void all_to_all_bruck(Lane& lane, const Call& call);
/// As pairwise, after each pair has compared its counts; Error(invalid_argument) on both where
/// these differ, before any data moves between them.
void all_to_all_v_pairwise(Lane& lane, const Call& call);

/// One message each way, both at once, each with a signature of its own count: so both ends of a
/// message find out where their counts differ.
void send_receive(Lane& lane, const Call& call);

}  // namespace muster::collectives::algorithms
