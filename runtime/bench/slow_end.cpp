#include "runtime/bench/slow_end.hpp"

#include <algorithm>
#include <limits>

#include "runtime/bench/statistics.hpp"

namespace muster::runtime {
namespace {

constexpr double kSlow = 1.5;
constexpr double kReferenceQuantile = 0.2;

}  // namespace

SlowEnds find_slow_ends(const std::vector<std::vector<double>>& times) {
  const std::size_t n = times.size();
  if (n < 3) return {};
  std::vector<double> pairs;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < i; ++j) pairs.push_back(times[i][j]);
  }
  const double reference = quantile(pairs, kReferenceQuantile);
  SlowEnds slow;
  std::vector<double> pace(n, std::numeric_limits<double>::infinity());
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      if (i != j) pace[i] = std::min(pace[i], times[i][j] / reference);
    }
    if (pace[i] > kSlow) slow.ranks.push_back({static_cast<int>(i), pace[i]});
  }
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = i + 1; j < n; ++j) {
      const double ends = std::max({pace[i], pace[j], 1.0});
      const double link = times[i][j] / reference;
      if (ends > kSlow || link <= kSlow * ends) continue;
      slow.links.push_back({static_cast<int>(i), static_cast<int>(j), link});
    }
  }
  return slow;
}

}  // namespace muster::runtime
