#pragma once

#include <string>
#include <vector>

namespace muster::launcher {

/// Logical processors, ascending.
using Cpus = std::vector<int>;

/// Groups logical processors by the physical core they belong to, neighbouring cores next to each
/// other. `sysfs`: where /sys is, for tests. What the system does not tell counts as a core each.
std::vector<Cpus> physical_cores(const Cpus& cpus, const std::string& sysfs = "/sys");

/// Gives each rank processors of its own: whole cores when there are enough of them, else single
/// processors; shares differ by at most one. Empty when there are fewer processors than ranks.
std::vector<Cpus> divide(const std::vector<Cpus>& cores, int ranks);

/// One line for people: "rank 0 on 0-3, rank 1 on 4-7"; for many ranks their number and share.
std::string describe(const std::vector<Cpus>& shares);

}  // namespace muster::launcher
