#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "kernels/base/log.hpp"
#include "launcher/bench_options.hpp"
#include "launcher/probe_options.hpp"
#include "launcher/status_options.hpp"
#include "runtime/train/run.hpp"

namespace muster::launcher {

/// Most ranks that one command starts.
inline constexpr int kMaxRanks = 4096;

/// Nothing to do but to print this: help or version.
struct ShowText {
  std::string text;
};

struct TrainCommand {
  std::string job;
  std::optional<int> ranks;           // -n
  std::vector<std::string> settings;  // "training.steps=50"
  LogLevel log_level = LogLevel::info;
  double grace_s = 5.0;           // from a stop request to the end of ranks that have not ended
  double stall_warning_s = 30.0;  // a rank that waits so long in a collective is said
};

struct GenerateCommand {
  runtime::GenerateOptions options;
};

struct PlanCommand {
  std::string job;
  int ranks = 1;
  std::vector<std::string> settings;
  bool show_program = false;
  bool show_config = false;
};

using Command = std::variant<ShowText, TrainCommand, GenerateCommand, PlanCommand, BenchCommand,
                             CompareCommand, ProbeCommand, StatusCommand, DumpCommand>;

/// Reads a command line without the program's name. `version`: what --version prints. Both programs
/// understand the same command lines, so that muster can hand its own to muster-rank as it is.
///
/// Error(config) names what is wrong: an unknown command or option with the nearest known one, a
/// missing or malformed value with the limit. `bench` has errors of its own: see BenchLine.
Command parse_command(std::span<const std::string> arguments, std::string_view version);

}  // namespace muster::launcher
