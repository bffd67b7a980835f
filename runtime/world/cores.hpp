#pragma once

#include <string>
#include <vector>

#include "runtime/world/world.hpp"

namespace muster::runtime {

/// Logical processors that this process may run on, ascending (its affinity mask).
std::vector<int> affinity_cpus();

/// Processors' worth of time that the control group of this process may use, the least of its own
/// and its ancestors' quotas, version 1 or 2; infinity when there is none. `root`: where the file
/// system begins, for tests.
double cpu_quota(const std::string& root = "");

/// How many threads a rank should compute with.
struct ThreadChoice {
  int threads = 1;         // at least 1
  int cores_per_rank = 0;  // whole processors this rank has for itself; 0: it shares one
  std::string why;         // one sentence for the log, naming the numbers
};

/// Divides every processor of this rank's mask by the number of local ranks that may run on it, and
/// the quota by the number of local ranks; the smaller of the two, rounded down.
ThreadChoice threads_for_this_rank(const World& world);

/// The same with the quota given.
ThreadChoice choose_threads(const World& world, double quota);

/// "0-3,6": a list of processors for people.
std::string cpu_list_text(const std::vector<int>& cpus);

}  // namespace muster::runtime
