#pragma once

#include <vector>

namespace muster::runtime {

/// Up to so many ends every end meets every other.
inline constexpr int kAllPairsLimit = 8;

/// Rounds in which `ends` (hosts, or ranks of a host) meet two by two, so that in a round nobody
/// waits for a third: result[round][end] is the partner, or -1 for an end that rests.
///
/// Up to kAllPairsLimit ends all pairs meet (the circle method: ends - 1 rounds, or `ends` when it
/// is odd). Beyond, round k pairs r with r XOR 2^k, log2(ends) rounds; one more pairs r with
/// ends - 1 - r, and where `ends` is no power of two another r with ends + 1 - r, so that every end
/// has at least two partners.
std::vector<std::vector<int>> pair_rounds(int ends);

}  // namespace muster::runtime
