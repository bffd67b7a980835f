#include "runtime/world/cores.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <fstream>
#include <limits>
#include <optional>
#include <string_view>

#include <fmt/format.h>
#include <sched.h>

#include "collectives/net/fd.hpp"
#include "kernels/base/error.hpp"

namespace muster::runtime {
namespace {

constexpr double kUnlimited = std::numeric_limits<double>::infinity();
constexpr int kMostCpus = 8192;

std::optional<double> positive_number(const std::string& text) {
  double value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || value <= 0) return std::nullopt;
  return value;
}

std::optional<double> number_in(const std::string& path) {
  std::ifstream file(path);
  std::string text;
  if (!(file >> text)) return std::nullopt;
  return positive_number(text);
}

/// cpu.max of version 2: "QUOTA PERIOD", or "max PERIOD".
double quota_v2(const std::string& folder) {
  std::ifstream file(folder + "/cpu.max");
  std::string quota;
  std::string period;
  if (!(file >> quota >> period)) return kUnlimited;
  const auto used = positive_number(quota);
  const auto of = positive_number(period);
  return used && of ? *used / *of : kUnlimited;
}

double quota_v1(const std::string& folder) {
  const auto used = number_in(folder + "/cpu.cfs_quota_us");  // -1: none
  const auto of = number_in(folder + "/cpu.cfs_period_us");
  return used && of ? *used / *of : kUnlimited;
}

/// The least quota of a group and those it lies in. In a container its own path may not be visible:
/// then the root of what is mounted is its group.
template <typename Quota>
double least_quota(const std::string& mount, std::string group, const Quota& quota) {
  double least = quota(mount);
  while (group.size() > 1) {
    least = std::min(least, quota(mount + group));
    group.resize(group.rfind('/'));
  }
  return least;
}

bool names_cpu(std::string_view controllers) {
  while (!controllers.empty()) {
    const std::size_t comma = controllers.find(',');
    if (controllers.substr(0, comma) == "cpu") return true;
    if (comma == std::string_view::npos) break;
    controllers.remove_prefix(comma + 1);
  }
  return false;
}

std::string decimals(double value) {
  return value == std::floor(value) ? fmt::format("{:.0f}", value) : fmt::format("{:.2g}", value);
}

}  // namespace

std::vector<int> affinity_cpus() {
  cpu_set_t* const set = CPU_ALLOC(kMostCpus);
  if (set == nullptr) throw Error(ErrorCode::out_of_memory, "no memory for an affinity mask");
  const std::size_t bytes = CPU_ALLOC_SIZE(kMostCpus);
  std::vector<int> cpus;
  const int result = ::sched_getaffinity(0, bytes, set);
  const int reason = errno;
  for (int cpu = 0; result == 0 && cpu < kMostCpus; ++cpu) {
    if (CPU_ISSET_S(static_cast<std::size_t>(cpu), bytes, set)) cpus.push_back(cpu);
  }
  CPU_FREE(set);
  if (result != 0) {
    throw Error(ErrorCode::io,
                fmt::format("cannot read the affinity mask: {}", collectives::errno_text(reason)));
  }
  return cpus;
}

double cpu_quota(const std::string& root) {
  std::ifstream groups(root + "/proc/self/cgroup");
  double least = kUnlimited;
  for (std::string line; std::getline(groups, line);) {  // "ID:CONTROLLERS:PATH"
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string group = line.substr(second + 1);
    if (controllers.empty()) {
      least = std::min(least, least_quota(root + "/sys/fs/cgroup", group, quota_v2));
    } else if (names_cpu(controllers)) {
      least = std::min(least, least_quota(root + "/sys/fs/cgroup/cpu", group, quota_v1));
    }
  }
  return least;
}

ThreadChoice choose_threads(const World& world, double quota) {
  const Member& self = world.members.at(static_cast<std::size_t>(world.rank));
  double share = 0;
  int local = 0;
  for (const Member& member : world.members) local += member.host_id == self.host_id ? 1 : 0;
  for (const int cpu : self.cpus) {
    const auto users = std::ranges::count_if(world.members, [&](const Member& member) {
      return member.host_id == self.host_id && std::ranges::binary_search(member.cpus, cpu);
    });
    share += 1.0 / static_cast<double>(users);
  }
  const double least = std::min(share, quota / local);
  const double whole = std::floor(least + 1e-9);  // 1/3 three times is less than 1

  ThreadChoice choice;
  choice.cores_per_rank = static_cast<int>(whole);
  choice.threads = std::max(choice.cores_per_rank, 1);
  choice.why =
      fmt::format("{} {}: this rank may run on {} {} ({}), {} local {}, its share is {}",
                  choice.threads, choice.threads == 1 ? "thread" : "threads", self.cpus.size(),
                  self.cpus.size() == 1 ? "core" : "cores", cpu_list_text(self.cpus), local,
                  local == 1 ? "rank" : "ranks", decimals(share));
  if (quota / local < share) {
    choice.why += fmt::format("; the control group's quota of {} cores leaves {}", decimals(quota),
                              decimals(quota / local));
  }
  return choice;
}

ThreadChoice threads_for_this_rank(const World& world) {
  return choose_threads(world, cpu_quota());
}

std::string cpu_list_text(const std::vector<int>& cpus) {
  std::string text;
  for (std::size_t i = 0; i < cpus.size();) {
    std::size_t last = i;
    while (last + 1 < cpus.size() && cpus[last + 1] == cpus[last] + 1) ++last;
    if (!text.empty()) text += ',';
    text += last == i ? fmt::format("{}", cpus[i]) : fmt::format("{}-{}", cpus[i], cpus[last]);
    i = last + 1;
  }
  return text;
}

}  // namespace muster::runtime
