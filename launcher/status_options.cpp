#include "launcher/status_options.hpp"

#include <charconv>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "collectives/trace/layout.hpp"
#include "kernels/base/error.hpp"
#include "runtime/config/names.hpp"

namespace muster::launcher {
namespace {

constexpr int kMostEntries = static_cast<int>(collectives::trace::kEntries);

}  // namespace

struct StatusLine::Typed {
  StatusCommand status;
  DumpCommand dump;
  std::string entries = "50";
};

StatusLine::StatusLine() : typed_(std::make_unique<Typed>()) {}
StatusLine::~StatusLine() = default;

void StatusLine::add_to(CLI::App& app) {
  CLI::App& status = *app.add_subcommand("status", "show what the ranks of a running job are at");
  status
      .add_option("job", typed_->status.job, "job id, or pid of the launcher; default: list jobs")
      ->option_text("JOB");
  CLI::App& dump = *app.add_subcommand("dump", "show the last collectives of every rank");
  dump.add_option("job", typed_->dump.job, "job id, or pid of the launcher")
      ->required()
      ->option_text("JOB");
  dump.add_option("--entries", typed_->entries,
                  fmt::format("of each rank, 1 to {}; default 50", kMostEntries))
      ->option_text("N");
  dump.add_flag("--json", typed_->dump.is_json, "as JSON");
}

StatusCommand StatusLine::status_command() const {
  return typed_->status;
}

DumpCommand StatusLine::dump_command() const {
  DumpCommand command = typed_->dump;
  const std::string& text = typed_->entries;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, command.entries);
  const bool is_number = error == std::errc{} && end == last;
  if (!is_number || command.entries < 1 || command.entries > kMostEntries) {
    throw Error(ErrorCode::config, fmt::format("--entries {}: allowed is 1 to {}",
                                               runtime::quote(text), kMostEntries));
  }
  return command;
}

}  // namespace muster::launcher
