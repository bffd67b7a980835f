#include "launcher/commands/train.hpp"

#include <filesystem>

#include <fmt/format.h>

#include "kernels/base/error.hpp"
#include "launcher/local_job.hpp"
#include "launcher/rank_program.hpp"
#include "runtime/config/job.hpp"
#include "runtime/world/identity.hpp"

namespace muster::launcher {
namespace {

void check_agreement(const TrainCommand& command, const runtime::Identity& identity) {
  if (command.ranks && *command.ranks != identity.size) {
    throw Error(ErrorCode::config, fmt::format("-n {}, but {} has started {} ranks; leave -n out",
                                               *command.ranks, identity.origin, identity.size));
  }
}

/// The job, checked before anything starts: each rank reads the same file again.
runtime::JobConfig check_job(const TrainCommand& command) {
  std::error_code missing;  // load_job() says it better
  const auto status = std::filesystem::status(command.job, missing);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status) &&
      !std::filesystem::is_directory(status)) {
    throw Error(ErrorCode::config, fmt::format("{} is not a regular file: every rank has to read "
                                               "the job file, write it to a file first",
                                               command.job));
  }
  return runtime::load_job(command.job, command.settings);
}

}  // namespace

int run_train_command(const TrainCommand& command, std::span<const std::string> arguments) {
  const runtime::Identity identity = runtime::read_identity(runtime::Environment::current());
  if (!identity.is_single()) {
    check_agreement(command, identity);
    become_rank_program(arguments);
  }
  const runtime::JobConfig job = check_job(command);
  return run_local_job({.ranks = command.ranks.value_or(1),
                        .grace_s = command.grace_s,
                        .stall_warning_s = command.stall_warning_s,
                        .threads = static_cast<int>(job.device.threads)},
                       arguments);
}

}  // namespace muster::launcher
