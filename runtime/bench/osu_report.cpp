#include "runtime/bench/osu_report.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include <fmt/format.h>

namespace muster::runtime {
namespace {

constexpr int kSizeWidth = 10;
constexpr int kCellWidth = 20;

double mean_of(const std::vector<double>& times) {
  return std::accumulate(times.begin(), times.end(), 0.0) / static_cast<double>(times.size());
}

}  // namespace

std::string osu_header(const BenchReport& report, std::string_view operation) {
  return fmt::format(
      "# OSU style {} latency of muster {}, {} ranks, back end {}\n{:<{}}{:>{}}{:>{}}{:>{}}{:>{}}",
      operation, report.version, report.devices.size(), report.backend, "# Size", kSizeWidth,
      "Avg Latency(us)", kCellWidth, "Min Latency(us)", kCellWidth, "Max Latency(us)", kCellWidth,
      "Iterations", kCellWidth);
}

std::string osu_row(const BenchRow& row) {
  std::vector<double> ranks;
  for (const std::vector<double>& rank : row.out_of_place.iterations_us) {
    ranks.push_back(mean_of(rank));
  }
  const auto [least, most] = std::minmax_element(ranks.begin(), ranks.end());
  return fmt::format("{:<{}}{:>{}.2f}{:>{}.2f}{:>{}.2f}{:>{}}", row.bytes, kSizeWidth,
                     mean_of(ranks), kCellWidth, *least, kCellWidth, *most, kCellWidth,
                     row.iterations, kCellWidth);
}

}  // namespace muster::runtime
