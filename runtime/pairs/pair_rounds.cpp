#include "runtime/pairs/pair_rounds.hpp"

namespace muster::runtime {
namespace {

constexpr int kRests = -1;

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

int tournament_rounds(int ends) {
  return ends < 2 ? 0 : ends - 1 + ends % 2;
}

// End 0 keeps its seat, the others move round a circle; seats that face each other are pairs.
int tournament_partner(int end, int round, int ends) {
  const int moving = tournament_rounds(ends);  // an odd number plays with a ghost, the last end
  const int facing = (round + moving - 1) % moving;
  int partner = 0;
  if (end == 0) {
    partner = 1 + facing;
  } else if (end - 1 != facing) {
    partner = 1 + (2 * facing + moving - (end - 1)) % moving;
  }
  return partner < ends ? partner : kRests;
}

std::vector<std::vector<int>> pair_rounds(int ends) {
  if (ends < 2) return {};
  std::vector<std::vector<int>> rounds;
  if (ends <= kAllPairsLimit) {
    for (int round = 0; round < tournament_rounds(ends); ++round) {
      rounds.push_back(
          round_of(ends, [=](int end) { return tournament_partner(end, round, ends); }));
    }
    return rounds;
  }
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
