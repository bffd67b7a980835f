#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "collectives/link_profile.hpp"
#include "collectives/select.hpp"
#include "runtime/config/job.hpp"
#include "runtime/world/world.hpp"

namespace muster::runtime {

/// How the collectives of a run are done.
struct AlgorithmDecision {
  /// Where the back end has a choice.
  std::optional<collectives::AlgorithmTable> table;
  std::string remark;    // a line for people: what was chosen and by whom; empty: nothing to say
  bool is_open = false;  // nobody said anything: the links decide
};

/// What decides: the first of these that says something. With a back end without a choice, where
/// only the job file's word is an error, there is nothing to decide.
///  1. MUSTER_ALGO, `environment`;
///  2. the job file's comm.algo;
///  3. the record of an earlier run in the job's output folder, where it was made for the same
///     number of ranks and back end;
///  4. nobody: the cheapest of those that round once, by what the links do. The table returned
///     stands for links of an ordinary kind, until they are measured.
/// Error(config) names what is wrong in any of them.
AlgorithmDecision decide_algorithms(const JobConfig& config,
                                    const std::optional<std::string>& environment, int world,
                                    std::string_view backend);

/// decide_algorithms() on rank 0, for all ranks: what the others' environments and folders say
/// does not count. Collective; `backend`, as collectives::choose_backend() names it, is the same on
/// all. Only rank 0 knows who decided and has a remark of it.
AlgorithmDecision agree_on_algorithms(const JobConfig& config, World& world,
                                      std::string_view backend);

/// What was open is decided: the cheapest over links that were measured. Said in the remark.
void decide_by_links(const collectives::LinkProfile& links, AlgorithmDecision& decision);

}  // namespace muster::runtime
