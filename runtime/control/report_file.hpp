#pragma once

#include <string>
#include <string_view>

#include "collectives/net/fd.hpp"

namespace muster::runtime {

/// A file for a report: opened before the benchmark, so that a wrong path is found at once, written
/// at its end, and removed if that never comes.
class ReportFile {
 public:
  enum class IfThere {
    replace,
    count_up,  // then F.0, F.1, … is written instead, as nccl-tests does
  };

  /// Error(io) when the file cannot be made.
  ReportFile(const std::string& path, IfThere if_there);
  ReportFile(const ReportFile&) = delete;
  ReportFile& operator=(const ReportFile&) = delete;
  ~ReportFile();

  const std::string& path() const noexcept { return path_; }
  /// Once. Error(io) when the file cannot be written.
  void write(std::string_view text);

 private:
  std::string path_;
  collectives::Fd file_;
  bool is_written_ = false;
  bool is_new_ = true;
};

}  // namespace muster::runtime
