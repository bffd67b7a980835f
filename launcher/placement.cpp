#include "launcher/placement.hpp"

#include <algorithm>
#include <fstream>
#include <map>
#include <tuple>

#include <fmt/format.h>

#include "runtime/world/cores.hpp"

namespace muster::launcher {
namespace {

constexpr int kMaxListedRanks = 8;

int read_number(const std::string& path, int otherwise) {
  std::ifstream file(path);
  int number = otherwise;
  return file >> number ? number : otherwise;
}

/// The share of part `part` of `parts` when `items` are divided: [first, last).
std::pair<std::size_t, std::size_t> part_of(std::size_t items, std::size_t part,
                                            std::size_t parts) {
  return {items * part / parts, items * (part + 1) / parts};
}

}  // namespace

std::vector<Cpus> physical_cores(const Cpus& cpus, const std::string& sysfs) {
  std::map<std::tuple<int, int, int>, Cpus> cores;  // package, core, a processor nobody tells about
  for (const int cpu : cpus) {
    const std::string folder = fmt::format("{}/devices/system/cpu/cpu{}/topology/", sysfs, cpu);
    const int package = read_number(folder + "physical_package_id", -1);
    const int core = read_number(folder + "core_id", -1);
    const bool is_known = package >= 0 && core >= 0;
    cores[{package, is_known ? core : -1, is_known ? -1 : cpu}].push_back(cpu);
  }
  std::vector<Cpus> result;
  result.reserve(cores.size());
  for (auto& [key, members] : cores) result.push_back(std::move(members));
  return result;
}

std::vector<Cpus> divide(const std::vector<Cpus>& cores, int ranks) {
  std::vector<Cpus> pieces = cores;
  const auto parts = static_cast<std::size_t>(ranks);
  if (pieces.size() < parts) {
    pieces.clear();
    for (const Cpus& core : cores) {
      for (const int cpu : core) pieces.push_back({cpu});
    }
  }
  if (pieces.size() < parts) return {};
  std::vector<Cpus> shares(parts);
  for (std::size_t i = 0; i < parts; ++i) {
    const auto [first, last] = part_of(pieces.size(), i, parts);
    for (std::size_t piece = first; piece < last; ++piece) {
      shares[i].insert(shares[i].end(), pieces[piece].begin(), pieces[piece].end());
    }
    std::sort(shares[i].begin(), shares[i].end());
  }
  return shares;
}

std::string describe(const std::vector<Cpus>& shares) {
  if (shares.size() > kMaxListedRanks) {
    return fmt::format("each of {} ranks on {} processors of its own", shares.size(),
                       shares.front().size());
  }
  std::string text;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    text +=
        fmt::format("{}rank {} on {}", i == 0 ? "" : ", ", i, runtime::cpu_list_text(shares[i]));
  }
  return text;
}

}  // namespace muster::launcher
