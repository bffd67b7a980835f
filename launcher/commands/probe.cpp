#include "launcher/commands/probe.hpp"

#include <fmt/format.h>

#include "kernels/base/error.hpp"
#include "launcher/local_job.hpp"
#include "launcher/rank_program.hpp"
#include "runtime/world/identity.hpp"

namespace muster::launcher {
namespace {

constexpr int kRanks = 2;  // the fewest that have a link

}  // namespace

int run_probe_command(const ProbeCommand& command, std::span<const std::string> arguments) {
  const runtime::Identity identity = runtime::read_identity(runtime::Environment::current());
  if (identity.is_single()) {
    return run_local_job({.ranks = command.ranks.value_or(kRanks)}, arguments);
  }
  if (command.ranks.value_or(identity.size) != identity.size) {
    throw Error(ErrorCode::config,
                fmt::format("--ranks {}, but {} has started {} ranks; leave it out", *command.ranks,
                            identity.origin, identity.size));
  }
  become_rank_program(arguments);
}

}  // namespace muster::launcher
