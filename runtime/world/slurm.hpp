#pragma once

#include <string_view>
#include <vector>

#include "runtime/world/environment.hpp"

namespace muster::runtime {

/// Expands Slurm's list of tasks per node, "2(x3),1" to {2, 2, 2, 1}. Error(config) names `name`,
/// the variable, and what does not fit the grammar N or N(xM), separated by commas.
std::vector<int> parse_tasks_per_node(std::string_view text, std::string_view name);

/// Error(config) naming both variables when Slurm's numbers contradict each other: tasks in all,
/// nodes, tasks per node. Unequal nodes are fine when they add up.
void check_slurm_numbers(const Environment& environment);

}  // namespace muster::runtime
