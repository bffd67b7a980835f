#include "runtime/bench/csv_report.hpp"

#include <fmt/format.h>

#include "runtime/bench/statistics.hpp"

namespace muster::runtime {
namespace {

std::string half_names(std::string_view half, bool has_percentiles) {
  std::string text = fmt::format(",{0}_time_us,{0}_algbw_gbs,{0}_busbw_gbs,{0}_wrong", half);
  if (has_percentiles) text += fmt::format(",{0}_p50_us,{0}_p95_us,{0}_p99_us,{0}_max_us", half);
  return text;
}

std::string half_values(const HalfResult& half, bool has_percentiles) {
  std::string text = fmt::format(",{:.6g},{:.6g},{:.6g},{}", half.time_us, half.algbw, half.busbw,
                                 half.wrong ? fmt::format("{}", *half.wrong) : "");
  if (!has_percentiles) return text;
  const IterationStats stats = statistics_of(slowest_iterations(half));
  return text +
         fmt::format(",{:.6g},{:.6g},{:.6g},{:.6g}", stats.p50, stats.p95, stats.p99, stats.max);
}

}  // namespace

std::string csv_report(const BenchReport& report) {
  const bool has_percentiles = report.options.keeps_iterations();
  std::string text = "operation,bytes,count,type,redop,root" +
                     half_names("out_of_place", has_percentiles) +
                     half_names("in_place", has_percentiles) + "\n";
  for (const BenchRow& row : report.rows) {
    text += fmt::format("{},{},{},{},{},{}", row.operation, row.bytes, row.count, row.type,
                        row.reduction, row.root);
    text += half_values(row.out_of_place, has_percentiles);
    text += half_values(row.in_place, has_percentiles) + "\n";
  }
  return text;
}

}  // namespace muster::runtime
