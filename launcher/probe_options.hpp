#pragma once

#include <optional>
#include <string>

#include "runtime/probe/run_probe.hpp"

namespace CLI {  // NOLINT(readability-identifier-naming): the library's own
class App;
}

namespace muster::launcher {

/// `muster probe`.
struct ProbeCommand {
  runtime::ProbeOptions options;
  std::optional<int> ranks;  // --ranks
};

/// The options of `muster probe` as they are typed; numbers are read afterwards, so that each error
/// names its limit.
class ProbeLine {
 public:
  /// Adds the command `probe` to a command line. Must outlive the parsing.
  void add_to(CLI::App& app);
  /// Error(config) names a malformed value; Error(unsupported) an option that muster lacks.
  ProbeCommand command() const;

 private:
  runtime::ProbeOptions options_;
  std::string ranks_;
  std::string timeout_ = "60";
  std::string hosts_;
};

}  // namespace muster::launcher
