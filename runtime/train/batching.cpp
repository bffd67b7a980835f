#include "runtime/train/batching.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "kernels/base/error.hpp"

namespace muster::runtime {
namespace {

constexpr std::int64_t kMicroBatchTokens = 2048;

std::int64_t largest_divisor_up_to(std::int64_t number, std::int64_t limit) {
  for (std::int64_t divisor = std::min(number, limit); divisor > 1; --divisor) {
    if (number % divisor == 0) return divisor;
  }
  return 1;
}

std::int64_t rows_per_rank(const JobConfig& config, int ranks) {
  const std::int64_t rows = config.training.global_batch_size;
  if (rows % ranks == 0) return rows / ranks;
  const std::int64_t below = rows / ranks * ranks;
  throw Error(
      ErrorCode::config,
      fmt::format("{}: training.global_batch_size = {} cannot be dealt evenly to {} ranks; "
                  "try {} or {}, or another number of ranks",
                  config.file, rows, ranks, std::max<std::int64_t>(below, ranks), below + ranks));
}

}  // namespace

Batching cut_batch(const JobConfig& config, int ranks) {
  Batching batching;
  batching.rows_per_rank = rows_per_rank(config, ranks);
  const std::int64_t wanted = config.training.local_batch_size;
  if (wanted == 0) {
    const std::int64_t limit = std::max<std::int64_t>(1, kMicroBatchTokens / config.data.seq_len);
    batching.micro_batch_rows = largest_divisor_up_to(batching.rows_per_rank, limit);
  } else if (batching.rows_per_rank % wanted != 0) {
    throw Error(ErrorCode::config,
                fmt::format("{}: training.local_batch_size = {} does not divide the {} sequences "
                            "that each of {} ranks gets of training.global_batch_size = {}; try {}",
                            config.file, wanted, batching.rows_per_rank, ranks,
                            config.training.global_batch_size,
                            largest_divisor_up_to(batching.rows_per_rank, wanted)));
  } else {
    batching.micro_batch_rows = wanted;
  }
  batching.micro_batches = batching.rows_per_rank / batching.micro_batch_rows;
  return batching;
}

}  // namespace muster::runtime
