#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "runtime/probe/probe_cache.hpp"
#include "runtime/probe/survey.hpp"

namespace muster::runtime {

/// What became of the cached result of a probe.
struct Recall {
  bool is_valid = false;              // the cached result stands; the same on all ranks
  std::optional<ProbeResult> result;  // the cached one, on rank 0 where it is valid
  int links = 0;                      // of pairs of hosts that were measured for it
  std::string remark;                 // on rank 0: why the cached result is not used; empty: none
};

/// Takes the result of an earlier probe where a few links that are measured now agree with it: the
/// inside of every host and one pair of every host (check_rounds), as find_disagreement() says.
/// What is slower than it was is measured again, up to kCheckAttempts times and for kCheckBudgetS.
///
/// Collective over the world. `cache` counts on rank 0 alone; nullptr: there is none. What was
/// measured stays in `survey` for Survey::finish().
Recall recall_probe(collectives::Communicator& world, Survey& survey, const ProbeCache* cache,
                    std::int64_t now_s);

}  // namespace muster::runtime
