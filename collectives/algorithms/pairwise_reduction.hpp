#pragma once

#include "collectives/algorithms/lane.hpp"
#include "collectives/call.hpp"

namespace muster::collectives::algorithms {

/// Where the reduced shares go.
enum class Results {
  keep,     // they stay with their owners
  to_root,  // all of them to the root's out
  to_all    // all of them to every rank's out
};

struct PairwiseReduction {
  ConstTensorView in;  // the whole vector
  TensorView out;      // elements from number out_begin on
  std::int64_t out_begin = 0;
  Shares shares;  // who reduces what; shares may overlap unless results go on
  ReduceOp op = ReduceOp::sum;
  Results results = Results::keep;
  int root = 0;  // of to_root
};

/// Every owner gets the others' contributions to its share as they are and reduces all of them in
/// rank order, rounded once; then the results go where they are wanted.
///
///   step k of n - 1:  rank r --> r + k   what r has for the share of r + k
///                     rank r <-- r - k   what r - k has for the share of r
///
/// Shares are cut into pieces; while one is reduced the next travel, more of them across hosts.
/// Each rank sends (n - 1) / n of the vector in n - 1 messages per piece, twice that with results
/// to all. `out` may be `in`, whole or, where results stay, the rank's own share of it. Up to 1024
/// ranks.
void run(Lane& lane, const PairwiseReduction& reduction);

}  // namespace muster::collectives::algorithms
