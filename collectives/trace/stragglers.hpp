#pragma once

#include <optional>
#include <span>
#include <string>

namespace muster::collectives::trace {

/// A rank that the others wait for.
struct Straggler {
  int rank = 0;
  double cost_s = 0.0;    // what each of the others has waited for it, on average
  double share = 0.0;     // of the time in which that was counted
  double waited_s = 0.0;  // what it has waited for them, all together
};

/// The rank that cost the others most, if that is more than 5 % of `within_s` and more than twice
/// what it waited itself: ranks that merely wait for each other by turns are no stragglers.
///
///   waited : [ranks, ranks] seconds: row r is what rank r has waited for each rank
std::optional<Straggler> find_straggler(std::span<const double> waited, int ranks, double within_s);

/// "rank 1 (host a) cost the others 12 s each, 8 % of the time; it waited 0.4 s itself"
std::string describe(const Straggler& straggler, const std::string& host);

}  // namespace muster::collectives::trace
