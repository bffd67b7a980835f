#pragma once

#include <cstdint>
#include <string>

namespace muster::runtime {

/// A fault that tests plant through the environment variable MUSTER_FAULT, for example
/// "nan:rank=1,step=3,tensor=model.norm.weight": in step 3 (counted from 1) rank 1's own gradient
/// of that tensor gets a NaN before it is reduced.
struct Fault {
  bool is_planned = false;
  int rank = 0;
  std::int64_t step = 0;
  std::string tensor;

  /// Whether it happens on `rank` in the step after `steps_done`.
  bool strikes(int this_rank, std::int64_t steps_done) const noexcept {
    return is_planned && this_rank == rank && steps_done + 1 == step;
  }
};

/// Parses the text of MUSTER_FAULT; empty: no fault. Error(config) names the part that is wrong.
Fault parse_fault(const std::string& text);

}  // namespace muster::runtime
