#include "runtime/dataset/loader.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "kernels/base/error.hpp"

namespace muster::runtime {
namespace {

/// Checks the options and resolves the number of micro-batches.
LoaderOptions resolve(LoaderOptions options) {
  const RowRange rows = options.rows;
  const bool are_rows_inside =
      rows.begin >= 0 && rows.count >= 0 && rows.begin + rows.count <= options.global_batch;
  if (!are_rows_inside || options.micro_rows < 1 || options.prefetch < 1) {
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format("a loader needs rows inside the global batch of {}, got [{}, {}); at "
                    "least one row per micro-batch, got {}; and one step of prefetch, got {}",
                    options.global_batch, rows.begin, rows.begin + rows.count, options.micro_rows,
                    options.prefetch));
  }
  const std::int64_t needed =
      std::max<std::int64_t>(1, (rows.count + options.micro_rows - 1) / options.micro_rows);
  if (options.micro_batches == 0) options.micro_batches = needed;
  if (options.micro_batches < needed) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{} rows need {} micro-batches of {} rows, more than {}", rows.count,
                            needed, options.micro_rows, options.micro_batches));
  }
  return options;
}

Batch empty_batch(const LoaderOptions& options, std::int64_t seq_len) {
  Batch batch;
  batch.micro_batches.assign(static_cast<std::size_t>(options.micro_batches),
                             MicroBatch(options.micro_rows, seq_len));
  return batch;
}

}  // namespace

RowRange rows_of_rank(std::int64_t global_batch, int rank, int world) {
  const std::int64_t begin = rank * global_batch / world;
  const std::int64_t end = (rank + std::int64_t{1}) * global_batch / world;
  return {begin, end - begin};
}

Loader::Loader(std::shared_ptr<const TrainingSet> set, const LoaderOptions& options)
    : set_(std::move(set)),
      options_(resolve(options)),
      // One slot more than is made ahead: the one in the reader's hands.
      ring_(static_cast<std::size_t>(options_.prefetch) + 1,
            empty_batch(options_, set_->seq_len())),
      first_(options_.first_step),
      next_(options_.first_step),
      producer_([this](const std::stop_token& stop) { produce(stop); }) {}

const Batch& Loader::get(std::int64_t step) {
  MUSTER_ASSERT(step >= 0);
  std::unique_lock lock(mutex_);
  const bool is_near = step >= first_ && step <= next_;
  first_ = step;
  if (!is_near) next_ = step;
  changed_.notify_all();
  changed_.wait(lock, [&] { return next_ > step; });
  return ring_[static_cast<std::size_t>(step) % ring_.size()];
}

void Loader::produce(const std::stop_token& stop) {
  const auto slots = static_cast<std::int64_t>(ring_.size());
  std::unique_lock lock(mutex_);
  while (changed_.wait(lock, stop, [&] { return next_ < first_ + slots; })) {
    const std::int64_t step = next_;
    Batch& batch = ring_[static_cast<std::size_t>(step) % ring_.size()];
    lock.unlock();
    batch.step = step;
    fill(batch);
    lock.lock();
    // When the reader has jumped elsewhere meanwhile, what was made is forgotten.
    if (next_ == step) ++next_;
    changed_.notify_all();
  }
}

void Loader::fill(Batch& batch) const noexcept {
  batch.target_count = 0;
  std::int64_t row = 0;
  for (MicroBatch& micro_batch : batch.micro_batches) {
    for (std::int64_t i = 0; i < micro_batch.rows; ++i, ++row) {
      const bool is_padding = row >= options_.rows.count;
      const std::int64_t sample =
          is_padding ? -1 : batch.step * options_.global_batch + options_.rows.begin + row;
      batch.target_count += set_->read(sample, i, micro_batch);
    }
  }
}

}  // namespace muster::runtime
