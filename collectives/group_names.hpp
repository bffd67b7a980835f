#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace muster::collectives {

/// What errors call a group and its ranks: a group that serves another goes by that one's names.
struct GroupNames {
  std::string group;
  std::vector<int> ranks = {};  // [size] the number of each member; empty: 0, 1, …

  int rank(int member) const {
    return ranks.empty() ? member : ranks[static_cast<std::size_t>(member)];
  }
};

}  // namespace muster::collectives
