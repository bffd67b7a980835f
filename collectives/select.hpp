#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/call.hpp"
#include "collectives/link_profile.hpp"

namespace muster::collectives {

namespace algorithms {
struct Algorithm;
}

/// A word where the name of an algorithm or of a kind of call is to stand, and is not.
struct UnknownName {
  std::string_view word;
  std::optional<CallKind> kind;         // whose algorithm was meant; nullopt: no kind was named
  bool is_kind = false;                 // the word stands for the kind itself
  std::vector<std::string_view> known;  // what could stand there

  /// "all_reduce has no algorithm "rnig"; it has auto, direct, …".
  std::string describe() const;
};

/// The algorithms of a kind, those for few ranks first; none of allocate.
std::vector<std::string_view> algorithm_names(CallKind kind);

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
  /// of that name; "" changes nothing, and "auto" in place of a name takes one back. Error(config)
  /// names what exists.
  void use(std::string_view text);
  /// What use() would refuse `text` for; it points into it.
  static std::optional<UnknownName> find_unknown(std::string_view text);

  /// `bytes` is the whole vector of the call: of all ranks together in all_gather, reduce_scatter,
  /// gather, scatter and all_to_all. Barriers have none, and messages between two ranks their own.
  const algorithms::Algorithm& choose(CallKind kind, std::size_t bytes, int size) const;

  /// The algorithm named for a kind; empty where the cheapest is chosen.
  std::string_view named(CallKind kind) const;
  /// All names, as use() takes them: "all_reduce=ring;broadcast=chain", or "auto" without any.
  std::string names() const;

  const LinkProfile& profile() const noexcept { return profile_; }

  /// All that choose() depends on, as text for a plan: "alpha_s=3e-05;…;all_reduce=ring".
  std::string to_text() const;
  /// The inverse. Error(config) for anything else.
  static AlgorithmTable parse(std::string_view text);

  bool operator==(const AlgorithmTable&) const = default;

 private:
  void use_entry(std::string_view name);
  void use_for_all(std::string_view name);

  LinkProfile profile_;
  std::map<CallKind, const algorithms::Algorithm*> named_;  // entries of the list
};

}  // namespace muster::collectives
