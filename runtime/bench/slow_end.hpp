#pragma once

#include <string>
#include <vector>

namespace muster::runtime {

/// The ends and links that are slower than the rest, as the times of pairs tell.
struct SlowEnds {
  struct Rank {
    int rank = 0;
    double times = 1.0;  // slower than the reference
  };
  struct Link {
    int a = 0;
    int b = 0;
    double times = 1.0;
  };
  std::vector<Rank> ranks;
  std::vector<Link> links;
};

/// A pair runs at the pace of its worse end: t[i][j] = max(c[i], c[j]). So c[i] is the least of i's
/// times over the reference, the 20th percentile of all pairs (a median would be polluted where few
/// ranks make many bad pairs). Rank i is slow if c[i] > 1.5; a link is slow if its time is more
/// than 1.5 of what the worse of its ends explains and neither end is slow.
///
///     t = [ -  1  5 ]      c = [1 1 5]: rank 2 is slow; of two ranks alone nothing can be said
///         [ 1  -  5 ]
///         [ 5  5  - ]
///
/// times: [n][n] symmetric, above 0 off the diagonal. Time n^2.
SlowEnds find_slow_ends(const std::vector<std::vector<double>>& times);

}  // namespace muster::runtime
