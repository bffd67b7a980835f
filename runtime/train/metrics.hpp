#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace muster::runtime {

/// What one step tells the world.
struct StepMetrics {
  std::int64_t step = 0;  // counts from 1: the number of the step that has just ended
  double loss = 0.0;
  double lr = 0.0;
  double tokens_per_s = 0.0;
  double grad_norm = 0.0;
  double step_seconds = 0.0;
  std::int64_t target_tokens = 0;
  double loss_scale = 1.0;
  bool is_skipped = false;
  std::int64_t memory_bytes = 0;       // peak resident set of rank 0
  std::int64_t arena_bytes = 0;        // allocated for the values of a micro-batch
  std::int64_t heap_allocations = -1;  // during the step on rank 0 (the first
                                       // step: since its start); -1: not counted
};

/// Appends one JSON object per step to `output_dir/metrics.jsonl`; a line is written with one
/// write(2), so a reader never sees half of one, and nothing is allocated. A value that is not
/// finite is written as null. A disk that is full costs lines and a warning, not the run. One
/// thread at a time.
class MetricsFile {
 public:
  /// Opens for appending. Lines of steps after `last_step` (of a run that is now resumed from an
  /// earlier checkpoint) are dropped first.
  MetricsFile(const std::string& path, std::int64_t last_step);
  ~MetricsFile();
  MetricsFile(const MetricsFile&) = delete;
  MetricsFile& operator=(const MetricsFile&) = delete;

  void write_step(const StepMetrics& metrics);
  void write_validation(std::int64_t step, double loss, std::int64_t tokens);

 private:
  void write_line(std::string_view line);

  std::string path_;
  int fd_ = -1;
  bool is_failing_ = false;  // the last line was lost; said once
  std::array<char, 1024> buffer_{};
};

}  // namespace muster::runtime
