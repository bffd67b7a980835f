#include "runtime/bench/report.hpp"

#include <algorithm>
#include <array>
#include <ctime>

namespace muster::runtime {

std::vector<double> slowest_iterations(const HalfResult& half) {
  if (half.iterations_us.empty()) return {};
  std::vector<double> slowest = half.iterations_us.front();
  for (const std::vector<double>& rank : half.iterations_us) {
    for (std::size_t i = 0; i < slowest.size(); ++i) slowest[i] = std::max(slowest[i], rank[i]);
  }
  return slowest;
}

BenchSummary summarize(const std::vector<BenchRow>& rows, double least_bandwidth) {
  constexpr double kEnough = 0.9;
  BenchSummary summary;
  for (const BenchRow& row : rows) {
    for (const HalfResult* half : {&row.out_of_place, &row.in_place}) {
      summary.bandwidth += half->busbw / (2.0 * static_cast<double>(rows.size()));
      if (half->wrong.value_or(0) > 0) ++summary.failed_checks;
    }
  }
  summary.is_bandwidth_checked = least_bandwidth >= 0.0;
  summary.is_bandwidth_enough =
      !summary.is_bandwidth_checked || summary.bandwidth >= kEnough * least_bandwidth;
  return summary;
}

std::string time_of_day() {
  const std::time_t now = std::time(nullptr);
  std::tm local = {};
  ::localtime_r(&now, &local);
  std::array<char, 32> text{};
  const std::size_t length = std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S", &local);
  return {text.data(), length};
}

}  // namespace muster::runtime
