#pragma once

#include "collectives/algorithms/lane.hpp"
#include "collectives/call.hpp"

namespace muster::collectives::algorithms {

/// What goes round.
struct Ring {
  ConstTensorView in;  // where it reduces: the whole vector
  TensorView out;      // elements from number out_begin on
  std::int64_t out_begin = 0;
  Shares shares;         // who owns what
  bool reduces = false;  // partial results go round until each has come to the share's owner
  bool gathers = false;  // the shares in out go round until all ranks have all
  ReduceOp op = ReduceOp::sum;
};

/// Every rank sends to the next and receives from the one before, n - 1 times per phase, so each
/// link carries (n - 1) / n of the vector per phase.
///
///   reduce, step s:  r --> r + 1  the sum so far of share r - s - 1
///   gather, step s:  r --> r + 1  share r - s
///
/// Shares are cut into columns of pieces that go round one behind the other, kColumns at a time:
/// the one combines while the other travels. Partial results travel wide (partial.hpp). Each share
/// is added up in the order in which it came round, by one rank, so all ranks get the same bits.
/// `out` may be `in`, whole or, where results stay, the rank's own share of it.
void run(Lane& lane, const Ring& ring);

}  // namespace muster::collectives::algorithms
