#include "collectives/hierarchy/host_layout.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include <fmt/format.h>

namespace muster::collectives {
HostLayout::HostLayout(const GroupSpec& group) {
  std::map<std::string, int> numbers;
  for (int rank = 0; rank < group.size; ++rank) {
    const std::string& name = group.hosts[static_cast<std::size_t>(rank)];
    const int host = numbers.emplace(name, hosts()).first->second;
    if (host == hosts()) ranks_.emplace_back();
    std::vector<int>& there = ranks_[static_cast<std::size_t>(host)];
    if (!there.empty() && there.back() != rank - 1) is_contiguous_ = false;
    host_of_.push_back(host);
    local_rank_of_.push_back(static_cast<int>(there.size()));
    there.push_back(rank);
  }
  const auto smallest = std::min_element(
      ranks_.begin(), ranks_.end(),
      [](const auto& one, const auto& other) { return one.size() < other.size(); });
  columns_ = static_cast<int>(smallest->size());
}

GroupSpec HostLayout::local_group(const GroupSpec& group, int rank) const {
  return serving_group(group, fmt::format("{}.host{}", group.name, host_of(rank)),
                       ranks_of(host_of(rank)));
}

GroupSpec HostLayout::column(const GroupSpec& group, int rank) const {
  const auto column = static_cast<std::size_t>(local_rank_of(rank));
  std::vector<int> members;
  members.reserve(ranks_.size());
  for (const std::vector<int>& ranks : ranks_) members.push_back(ranks[column]);
  return serving_group(group, fmt::format("{}.column{}", group.name, column), members);
}

GroupSpec HostLayout::all(const GroupSpec& group) const {
  std::vector<int> members(host_of_.size());
  std::iota(members.begin(), members.end(), 0);
  return serving_group(group, group.name + ".flat", members);
}

}  // namespace muster::collectives
