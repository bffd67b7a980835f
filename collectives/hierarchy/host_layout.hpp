#pragma once

#include <string>
#include <vector>

#include "collectives/backends.hpp"

namespace muster::collectives {

/// Which ranks of a group share a host. Hosts are numbered in the order of their lowest rank.
///
///   local group   the ranks of one host, in rank order
///   column c      the c-th rank of every host, in the order of hosts. There are as many columns as
///                 the smallest host has ranks; what ranks beyond hold goes through the others
class HostLayout {
 public:
  explicit HostLayout(const GroupSpec& group);

  int hosts() const noexcept { return static_cast<int>(ranks_.size()); }
  /// Ranks of a host, ascending.
  const std::vector<int>& ranks_of(int host) const {
    return ranks_[static_cast<std::size_t>(host)];
  }
  int host_of(int rank) const { return host_of_[static_cast<std::size_t>(rank)]; }
  int local_rank_of(int rank) const { return local_rank_of_[static_cast<std::size_t>(rank)]; }
  int columns() const noexcept { return columns_; }

  /// The ranks of every host are neighbours in the group, so that a host's shares are too.
  bool is_contiguous() const noexcept { return is_contiguous_; }

  /// The groups of `rank`, which is group.rank, named after the group, which
  /// errors name; column() where it is in one.
  GroupSpec local_group(const GroupSpec& group, int rank) const;
  GroupSpec column(const GroupSpec& group, int rank) const;
  /// All ranks.
  GroupSpec all(const GroupSpec& group) const;

 private:
  std::vector<std::vector<int>> ranks_;  // [hosts]
  std::vector<int> host_of_;             // [ranks]
  std::vector<int> local_rank_of_;       // [ranks]
  int columns_ = 0;
  bool is_contiguous_ = true;
};

}  // namespace muster::collectives
