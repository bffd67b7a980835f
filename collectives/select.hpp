#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "collectives/call.hpp"

namespace muster::collectives {

/// What one link does: a message of b bytes takes alpha_s + b * beta_s_per_byte, and to combine b
/// bytes of one vector with another takes b * gamma_s_per_byte.
struct LinkProfile {
  double alpha_s = 30e-6;
  double beta_s_per_byte = 1.0 / 1.1e9;
  double gamma_s_per_byte = 1.0 / 10e9;
};

/// Which algorithm does a call: the cheapest by the cost formulas of collectives/algorithms, unless
/// one was named for the kind. All ranks of a group need equal tables.
///
/// Left to itself it chooses only algorithms that combine contributions in rank order with one
/// rounding, as Communicator promises; those that add up partial sums on the way group the sum
/// otherwise (the same on every rank all the same), so they are for those who ask for them by name.
///
/// Copies are cheap enough to pass by value; reading is safe from any number of threads.
class AlgorithmTable {
 public:
  AlgorithmTable() = default;
  explicit AlgorithmTable(const LinkProfile& profile) : profile_(profile) {}

  /// Names algorithms: "all_reduce=ring;broadcast=binomial", or "ring" for every kind that has one
  /// of that name; "" changes nothing, "auto" takes names back. The *_v kinds follow all_gather,
  /// reduce_scatter and all_to_all unless named themselves. Error(config) names what exists.
  void use(std::string_view text);

  /// `bytes` is the whole vector of the call: of all ranks together in all_gather, reduce_scatter,
  /// gather, scatter and all_to_all.
  std::string_view choose(CallKind kind, std::size_t bytes, int size) const;

  const LinkProfile& profile() const noexcept { return profile_; }

  /// All that choose() depends on, as text for a plan: "alpha_s=3e-05;…;all_reduce=ring".
  std::string to_text() const;
  /// The inverse. Error(config) for anything else.
  static AlgorithmTable parse(std::string_view text);

  bool operator==(const AlgorithmTable& other) const;

 private:
  void use_entry(std::string_view kind, std::string_view name);

  LinkProfile profile_;
  std::map<CallKind, std::string_view> named_;  // views of the names in the list of algorithms
};

}  // namespace muster::collectives
