#pragma once

#include <cstdint>

#include "runtime/config/job.hpp"
#include "runtime/model/shape.hpp"

namespace muster::runtime {

/// How a global batch is cut: rows per rank, and micro-batches of equal rows.
struct Batching {
  std::int64_t rows_per_rank = 0;
  std::int64_t micro_batch_rows = 0;
  std::int64_t micro_batches = 0;

  BatchShape micro_batch(std::int64_t seq_len) const noexcept {
    return {micro_batch_rows, seq_len};
  }
};

/// Cuts training.global_batch_size over `ranks`. training.local_batch_size is the rows of a
/// micro-batch; 0 takes the most that divide a rank's rows and hold about 2048 tokens: enough for
/// the matmuls to run at full speed, few enough to keep the activations small.
/// Error(config) when the numbers do not divide, with the nearest that do.
Batching cut_batch(const JobConfig& config, int ranks);

}  // namespace muster::runtime
