#pragma once

#include <vector>

namespace muster::runtime {

/// Rounds of a tournament in which every two of `ends` meet exactly once: ends - 1, or `ends` where
/// it is odd; none of fewer than two.
int tournament_rounds(int ends);

/// Whom `end` meets in round `round` of it; -1 in the round that an end of an odd number rests.
/// Nobody meets two at a time (the circle method: one end stays, the others move on by one seat
/// each round). 0 <= round < tournament_rounds(ends).
int tournament_partner(int end, int round, int ends);

/// pair_rounds() lets up to so many ends all meet.
inline constexpr int kAllPairsLimit = 8;

/// Rounds in which `ends` (hosts, or ranks of a host) meet two by two, so that in a round nobody
/// waits for a third: result[round][end] is the partner, or -1 for an end that rests.
///
/// Up to kAllPairsLimit ends all pairs meet, as in the tournament. Beyond, round k pairs r with r
/// XOR 2^k, log2(ends) rounds; one more pairs r with ends - 1 - r, and where `ends` is no power of
/// two another r with ends + 1 - r, so that every end has at least two partners.
std::vector<std::vector<int>> pair_rounds(int ends);

}  // namespace muster::runtime
