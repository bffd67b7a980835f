#pragma once

#include <memory>
#include <string>

namespace CLI {  // NOLINT(readability-identifier-naming): the library's own
class App;
}

namespace muster::launcher {

struct StatusCommand {
  std::string job;  // empty: list them
};

struct DumpCommand {
  std::string job;
  int entries = 50;  // of each rank, the last ones
  bool is_json = false;
};

/// The command lines of `muster status` and `muster dump`.
class StatusLine {
 public:
  StatusLine();
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;
  ~StatusLine();

  void add_to(CLI::App& app);
  StatusCommand status_command() const;
  /// Error(config) for a number of entries that is none.
  DumpCommand dump_command() const;

 private:
  struct Typed;
  std::unique_ptr<Typed> typed_;
};

}  // namespace muster::launcher
