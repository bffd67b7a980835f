#include "launcher/rank_environment.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>
#include <unistd.h>

namespace muster::launcher {
namespace {

constexpr std::array<std::string_view, 8> kStalePrefixes = {
    "OMPI_",         "PMI_",         "PMIX_",       "SLURM_PROCID",
    "SLURM_LOCALID", "SLURM_NODEID", "SLURM_STEP_", "TORCHELASTIC_"};

std::string_view name_of(std::string_view variable) {
  return variable.substr(0, variable.find('='));
}

bool is_stale(std::string_view variable) {
  return std::any_of(kStalePrefixes.begin(), kStalePrefixes.end(),
                     [&](std::string_view prefix) { return variable.starts_with(prefix); });
}

std::vector<std::string> own_variables(const RankIdentity& identity) {
  const auto number = [](std::string_view name, int value) {
    return fmt::format("{}={}", name, value);
  };
  return {
      number("MUSTER_RANK", identity.rank),
      number("MUSTER_WORLD_SIZE", identity.size),
      "MUSTER_JOB_ID=" + identity.job_id,
      number("MUSTER_TICKET_FD", identity.ticket_fd),
      number("MUSTER_CONTROL_FD", identity.control_fd),
      number("MUSTER_TRACE_FD", identity.trace_fd),
      number("RANK", identity.rank),
      number("WORLD_SIZE", identity.size),
      number("LOCAL_RANK", identity.rank),
      number("LOCAL_WORLD_SIZE", identity.size),
      "MASTER_ADDR=" + identity.store.host,
      number("MASTER_PORT", identity.store.port),
  };
}

}  // namespace

std::vector<std::string> rank_environment(const std::vector<std::string>& inherited,
                                          const RankIdentity& identity) {
  std::vector<std::string> result = own_variables(identity);
  const std::size_t own = result.size();
  for (const std::string& variable : inherited) {
    const auto is_same = [&](const std::string& ours) {
      return name_of(ours) == name_of(variable);
    };
    const auto end = result.begin() + static_cast<std::ptrdiff_t>(own);
    if (is_stale(variable) || std::any_of(result.begin(), end, is_same)) continue;
    result.push_back(variable);
  }
  return result;
}

std::vector<std::string> inherited_environment() {
  std::vector<std::string> result;
  for (char** variable = ::environ; *variable != nullptr; ++variable)
    result.emplace_back(*variable);
  return result;
}

}  // namespace muster::launcher
