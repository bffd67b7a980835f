#pragma once

#include <algorithm>

#include "collectives/algorithms/lane.hpp"

namespace muster::collectives::algorithms {

/// A rank's place in the binomial tree of n ranks below `root`. Places count from the root round
/// the group; place p > 0 hangs below p without its lowest bit, and its branch is the `extent`
/// places from p on (fewer at the end of the group).
///
///   n = 6:   0 - 4 - 5
///            | \ 2 - 3
///            1
class TreePlace {
 public:
  TreePlace(const Lane& lane, int root)
      : size_(lane.size()),
        root_(root),
        place_((lane.rank() - root + lane.size()) % lane.size()),
        extent_(place_ & -place_) {
    if (place_ == 0) {
      for (extent_ = 1; extent_ < size_;) extent_ *= 2;
    }
  }

  int place() const noexcept { return place_; }
  bool is_root() const noexcept { return place_ == 0; }
  int rank_of(int place) const noexcept { return (place + root_) % size_; }
  int parent() const noexcept { return rank_of(place_ - extent_); }
  /// The end of the branch of `place` that spans `extent` places.
  int end_of(int place, int extent) const noexcept { return std::min(size_, place + extent); }
  int end() const noexcept { return end_of(place_, extent_); }

  /// Calls visit(rank, place, extent) for each child, that with the longest branch first.
  template <typename Visit>
  void for_each_child(Visit&& visit) const {
    for (int extent = extent_ / 2; extent > 0; extent /= 2) {
      if (place_ + extent < size_) visit(rank_of(place_ + extent), place_ + extent, extent);
    }
  }
  /// The same in the order of places.
  template <typename Visit>
  void for_each_child_in_order(Visit&& visit) const {
    for (int extent = 1; extent < extent_ && place_ + extent < size_; extent *= 2) {
      visit(rank_of(place_ + extent), place_ + extent, extent);
    }
  }

  /// Empty messages against the stream of data: to the parent, from the children.
  void signal_up(Lane& lane) const {
    if (!is_root()) lane.transport.send(parent(), {});
    for_each_child(
        [&](int child, int /*place*/, int /*extent*/) { lane.transport.receive(child, {}); });
  }
  /// From the parent, to the children.
  void signal_down(Lane& lane) const {
    if (!is_root()) lane.transport.receive(parent(), {});
    for_each_child(
        [&](int child, int /*place*/, int /*extent*/) { lane.transport.send(child, {}); });
  }

 private:
  int size_;
  int root_;
  int place_;
  int extent_;
};

}  // namespace muster::collectives::algorithms
