#pragma once

#include <string_view>

#include "runtime/bench/report.hpp"

namespace muster::runtime {

/// The pair of ranks that a collective cannot be faster than: the slowest of the ring over the
/// ranks, by its time for 1 MiB.
struct LimitingPair {
  int a = 0;
  int b = 1;
  double alpha_s = 0.0;  // of a message
  double beta_s = 0.0;   // per byte
};

LimitingPair limiting_pair(const PairMatrix& pairs);

/// What a collective takes at least where every message costs alpha + bytes * beta: the best of
/// the algorithms that the formulas know (L = ceil(log2 n), S = bytes of a row, the larger of sent
/// and received):
///
///     all_reduce                          min(L (alpha + S beta), 2 L alpha + 2 (n-1)/n S beta)
///     all_gather, reduce_scatter,
///     gather, scatter                     L alpha + (n-1)/n S beta
///     broadcast, reduce                   min(L (alpha + S beta), 2 L alpha + S beta)
///     alltoall, alltoallv                 min((n-1) alpha + (n-1)/n S beta, L (alpha + S beta /
///     2)) sendrecv                            alpha + S beta
double expected_seconds(std::string_view operation, double bytes, int ranks,
                        const LimitingPair& pair);

/// Fills the expectation of every row, and adds the sentence that names the limiting pair.
void add_expectations(BenchReport& report);

}  // namespace muster::runtime
