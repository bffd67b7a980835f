#pragma once

#include <span>
#include <string_view>

#include "collectives/algorithms/lane.hpp"
#include "collectives/call.hpp"
#include "collectives/link_profile.hpp"

namespace muster::collectives::algorithms {

/// One way to do one kind of call.
struct Algorithm {
  CallKind kind;
  std::string_view name;
  /// Groups of two or more.
  void (*run)(Lane& lane, const Call& call);
  /// Seconds for `bytes` of the whole vector among `ranks`, on links that do not disturb each
  /// other.
  double (*cost)(const LinkProfile& link, double bytes, double ranks);
  /// Contributions are combined in rank order and rounded once; true where nothing is combined.
  bool keeps_rank_order = true;
};

/// THE LIST of algorithms. Every kind but allocate has one or more, those for few ranks first.
std::span<const Algorithm> all_algorithms() noexcept;

/// Does a call in a group of any size: a rank alone copies.
void perform(const Algorithm& algorithm, Lane& lane, const Call& call);

}  // namespace muster::collectives::algorithms
