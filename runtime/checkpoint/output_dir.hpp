#pragma once

#include <cstdint>
#include <string>

namespace muster::runtime {

/// Makes sure, before any step, that a run can write its results: makes `output_dir` with its
/// folder of checkpoints, writes and removes a small file in it, and compares the free space with
/// `needed_bytes`, an estimate of all that the run will write. Error(config) names the folder, the
/// reason, and bytes needed and free.
void check_output_dir(const std::string& output_dir, std::int64_t needed_bytes = 0);

}  // namespace muster::runtime
