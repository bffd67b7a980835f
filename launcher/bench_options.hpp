#pragma once

#include <memory>
#include <optional>
#include <string>

#include "runtime/bench/bench_options.hpp"

namespace CLI {  // NOLINT(readability-identifier-naming): the library's own
class App;
}

namespace muster::launcher {

/// `muster bench OP` with options as they are, checked one by one.
struct BenchCommand {
  runtime::BenchOptions options;
  std::optional<int> ranks;  // --ranks, or -g
};

/// `muster bench compare BEFORE AFTER`.
struct CompareCommand {
  std::string before;
  std::string after;
};

/// The options of `muster bench` as they are typed; numbers are read afterwards, so that each error
/// names its limit.
class BenchLine {
 public:
  BenchLine();
  BenchLine(const BenchLine&) = delete;
  BenchLine& operator=(const BenchLine&) = delete;
  ~BenchLine();

  /// Adds the command `bench` to a command line. Must outlive the parsing.
  void add_to(CLI::App& app);
  /// True for `bench compare`.
  bool is_comparison() const;
  /// Error(config) names a malformed value; Error(unsupported) an option that only makes sense on
  /// CUDA, or that muster lacks, with the reason.
  BenchCommand bench_command() const;
  CompareCommand compare_command() const;

 private:
  struct Typed;

  std::unique_ptr<Typed> typed_;
};

}  // namespace muster::launcher
