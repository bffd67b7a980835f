#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace muster::runtime {

/// What a progress line shows.
struct Progress {
  std::int64_t step = 0;
  std::int64_t steps = 0;
  double loss = 0.0;
  double lr = 0.0;
  double tokens_per_s = 0.0;
  double gradient_norm = 0.0;
  double step_seconds = 0.0;
  double eta_s = 0.0;
  double memory_bytes = 0.0;
};

/// Where rank 0 says what a person should see. Other ranks log instead.
/// One thread at a time.
class Reporter {
 public:
  Reporter() = default;
  Reporter(const Reporter&) = delete;
  Reporter& operator=(const Reporter&) = delete;
  virtual ~Reporter() = default;

  /// Whole lines for standard output: tables, validation results, checkpoints.
  virtual void lines(std::string_view text) = 0;
  /// The state of the run: redrawn in place on a terminal, a whole line now and then in a file.
  virtual void progress(const Progress& progress) = 0;
};

}  // namespace muster::runtime
