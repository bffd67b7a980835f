#include "runtime/probe/pair_rounds.hpp"

namespace muster::runtime {
namespace {

constexpr int kRests = -1;

// One end keeps its seat, the others move round a circle; the seats face each other in pairs.
std::vector<std::vector<int>> circle_rounds(int ends) {
  const int seats = ends + ends % 2;  // an odd number gets an empty seat, whose partner rests
  std::vector<std::vector<int>> rounds;
  for (int round = 0; round + 1 < seats; ++round) {
    std::vector<int> partners(static_cast<std::size_t>(ends), kRests);
    const auto at = [&](int seat) { return seat == 0 ? 0 : 1 + (seat - 1 + round) % (seats - 1); };
    for (int seat = 0; seat < seats / 2; ++seat) {
      const int one = at(seat);
      const int other = at(seats - 1 - seat);
      if (one >= ends || other >= ends) continue;
      partners[static_cast<std::size_t>(one)] = other;
      partners[static_cast<std::size_t>(other)] = one;
    }
    rounds.push_back(partners);
  }
  return rounds;
}

template <typename Partner>
std::vector<int> round_of(int ends, const Partner& partner_of) {
  std::vector<int> partners(static_cast<std::size_t>(ends), kRests);
  for (int end = 0; end < ends; ++end) {
    const int partner = partner_of(end);
    if (partner < ends && partner != end) partners[static_cast<std::size_t>(end)] = partner;
  }
  return partners;
}

}  // namespace

std::vector<std::vector<int>> pair_rounds(int ends) {
  if (ends < 2) return {};
  if (ends <= kAllPairsLimit) return circle_rounds(ends);
  std::vector<std::vector<int>> rounds;
  for (int distance = 1; distance < ends; distance *= 2) {
    rounds.push_back(round_of(ends, [distance](int end) { return end ^ distance; }));
  }
  rounds.push_back(round_of(ends, [ends](int end) { return ends - 1 - end; }));
  const bool is_power_of_two = (ends & (ends - 1)) == 0;
  if (!is_power_of_two) {
    rounds.push_back(round_of(ends, [ends](int end) { return (ends + 1 - end) % ends; }));
  }
  return rounds;
}

}  // namespace muster::runtime
