#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace muster::runtime {

/// One measurement of a report file: a half of a row, named "all_reduce float sum -1 1048576 B
/// in-place".
struct ComparedTimes {
  std::string name;
  double time_us = 0.0;
  std::vector<double> samples_us;  // empty in files of nccl-tests: then the spread is assumed
};

/// Reads the JSON that `muster bench` or nccl-tests wrote. `path` is for messages. Error(config)
/// says what is missing or malformed.
std::vector<ComparedTimes> read_times(std::string_view json, const std::string& path);

struct Comparison {
  struct Line {
    std::string name;
    double before_us = 0.0;
    double after_us = 0.0;
    double change_percent = 0.0;  // of the time; above 0: slower
    double noise_percent = 0.0;   // what the spread inside both runs explains
    bool is_slower = false;       // beyond noise
  };
  std::vector<Line> lines;
  std::vector<std::string> unmatched;  // measurements of one file only
  double change_percent = 0.0;         // median over the lines
  double noise_percent = 0.0;          // of that median
  bool is_regression = false;
};

/// Whether `after` is slower than `before`, line by line and as a whole.
///
/// The time of a line is the least of its samples (interference only ever adds time), its noise
/// three times the distance from there to the median, of both runs together. A run is a regression
/// when the median of all changes exceeds both 7 % and three standard errors of that median, as the
/// scatter of the lines gives it; or when a single line is slower by more than half and by more
/// than three times its noise. Error(config) when the two have no line in common.
Comparison compare_times(const std::vector<ComparedTimes>& before,
                         const std::vector<ComparedTimes>& after);

/// The table and the sentence below it, without the last newline.
std::string comparison_text(const Comparison& comparison);

/// Reads two files, returns the table. `is_regression` tells the exit code.
Comparison compare_files(const std::string& before, const std::string& after);

}  // namespace muster::runtime
