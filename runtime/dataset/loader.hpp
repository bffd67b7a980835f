#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <stop_token>
#include <thread>
#include <vector>

#include "runtime/dataset/batch.hpp"
#include "runtime/dataset/samples.hpp"

namespace muster::runtime {

/// The rows [begin, begin + count) of every global batch that one rank reads.
struct RowRange {
  std::int64_t begin = 0;
  std::int64_t count = 0;
};

/// Deals `global_batch` rows to `world` ranks: rank r gets [r B / n, (r + 1) B / n), so counts
/// differ by one at most and may be zero.
RowRange rows_of_rank(std::int64_t global_batch, int rank, int world);

struct LoaderOptions {
  std::int64_t global_batch = 0;   // rows per step over all ranks
  RowRange rows;                   // this rank's
  std::int64_t micro_rows = 0;     // rows per micro-batch
  std::int64_t micro_batches = 0;  // per step; 0: as many as the rows need, at least one
  std::int64_t prefetch = 2;       // steps made ahead
  std::int64_t first_step = 0;     // the first get() is for this step
};

/// Makes the batches of one rank ahead of their use, on a thread of its own.
///
/// Row i of step s of the global batch is sample s * global_batch + i. Rows that do not fill the
/// last micro-batch are followed by rows of padding without targets, so every micro-batch has the
/// same shape, also on a rank without rows.
///
/// One thread calls get(). All memory is taken by the constructor.
class Loader {
 public:
  /// `set` is shared by loaders and validation of the same job. Error(invalid_argument) when the
  /// rows do not lie in the global batch, or need more micro-batches than `micro_batches`.
  Loader(std::shared_ptr<const TrainingSet> set, const LoaderOptions& options);
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;
  ~Loader() = default;

  /// The batch of `step`, valid until the next call. Steps that follow one another are ready or
  /// nearly so; another step than the next one costs the time to make it.
  const Batch& get(std::int64_t step);

 private:
  void produce(const std::stop_token& stop);
  void fill(Batch& batch) const noexcept;

  const std::shared_ptr<const TrainingSet> set_;
  const LoaderOptions options_;
  std::vector<Batch> ring_;  // step s lies in slot s % size; steps [first_, next_) are ready

  std::mutex mutex_;  // guards first_ and next_
  std::condition_variable_any changed_;
  std::int64_t first_ = 0;  // the step in the reader's hands or, before it asked, the first one
  std::int64_t next_ = 0;   // the next step to make

  std::jthread producer_;  // last: it stops before what it uses goes
};

}  // namespace muster::runtime
