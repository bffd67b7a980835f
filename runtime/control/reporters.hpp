#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>

#include "runtime/control/launcher_link.hpp"
#include "runtime/control/reporter.hpp"

namespace muster::runtime {

/// "step 120/2000  loss 2.3451  lr 3.0e-04  12,345 tokens/s  grad 0.87  118 ms/step  1.2 GiB
/// left 3m12s": one line without its newline. What is zero because it is not known is left out.
std::string progress_line(const Progress& progress);

/// Which progress reports become whole lines in a file: the first, every `interval` steps, the
/// last, and the next one when ten seconds have passed without a line.
class LineInterval {
 public:
  using Clock = std::chrono::steady_clock;

  explicit LineInterval(std::int64_t interval) : interval_(interval) {}

  bool is_due(const Progress& progress, Clock::time_point now);

 private:
  std::int64_t interval_;
  bool is_first_ = true;
  Clock::time_point last_;
};

/// Reports through the launcher, which owns the terminal. progress() uses no heap; it sends what is
/// due as a line, and for the redrawn line at most ten others a second.
class LauncherReporter final : public Reporter {
 public:
  /// The link must outlive the reporter. `interval`: steps between whole lines in a file.
  LauncherReporter(LauncherLink& link, std::int64_t interval);

  void lines(std::string_view text) override;
  void progress(const Progress& progress) override;

 private:
  using Clock = LineInterval::Clock;

  LauncherLink& link_;
  LineInterval interval_;
  Clock::time_point last_sent_;
};

/// Reports to a file, whole lines only: for a rank without our launcher. Error(io) when the file
/// cannot be written.
class PrintReporter final : public Reporter {
 public:
  /// The file must outlive the reporter.
  PrintReporter(std::FILE* out, std::int64_t interval);

  void lines(std::string_view text) override;
  void progress(const Progress& progress) override;

 private:
  using Clock = LineInterval::Clock;

  std::FILE* out_;
  LineInterval interval_;
};

}  // namespace muster::runtime
