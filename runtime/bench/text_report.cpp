#include "runtime/bench/text_report.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "runtime/bench/statistics.hpp"

namespace muster::runtime {
namespace {

constexpr int kTimeWidth = 7;
constexpr int kBandwidthWidth = 6;

int digits_before_point(double value) {
  int digits = 0;
  double power = 1.0;
  while (value >= power) {
    power *= 10.0;
    ++digits;
  }
  return digits;
}

/// What stands left of the two halves; the header's '#' takes the place of the first column's
/// leading blanks.
std::string left_columns(std::string_view size, std::string_view count,
                         const std::array<std::string_view, 3>& names) {
  return fmt::format("# {:>10}  {:>12}  {:>8}  {:>6}  {:>6}", size, count, names[0], names[1],
                     names[2]);
}

std::string cells(const std::vector<std::string_view>& names, int width) {
  std::string text;
  for (const std::string_view name : names) text += fmt::format("  {:>{}}", name, width);
  return text;
}

/// The titles of one half: time, bandwidths, wrong elements, and those of single iterations.
std::string half_header(const std::array<std::string_view, 4>& names,
                        const std::vector<std::string_view>& iteration_names) {
  return fmt::format("  {:>7}  {:>6}  {:>6}  {:>6}", names[0], names[1], names[2], names[3]) +
         cells(iteration_names, kTimeWidth);
}

std::string iteration_cells(const HalfResult& half) {
  const IterationStats stats = statistics_of(slowest_iterations(half));
  std::string text;
  for (const double value : {stats.min, stats.max, stats.p99, stats.cv_percent()}) {
    text += "  " + fitted(value, kTimeWidth);
  }
  return text;
}

std::string percentile_cells(const HalfResult& half) {
  const IterationStats stats = statistics_of(slowest_iterations(half));
  std::string text;
  for (const double value : {stats.p50, stats.p95, stats.p99, stats.max}) {
    text += "  " + fitted(value, kTimeWidth);
  }
  return text;
}

std::string half_cells(const HalfResult& half, const BenchOptions& options) {
  const std::string wrong =
      half.wrong ? fmt::format("  {:>6g}", static_cast<double>(*half.wrong)) : "    N/A";
  return fmt::format("  {}  {}  {}{}", fitted(half.time_us, kTimeWidth),
                     fitted(half.algbw, kBandwidthWidth), fitted(half.busbw, kBandwidthWidth),
                     wrong) +
         (options.per_iteration ? iteration_cells(half) : "");
}

std::string matrix_lines(std::string_view title, const std::vector<std::vector<double>>& matrix) {
  std::string text = fmt::format("# {}\n# {:>5}", title, "rank");
  for (std::size_t to = 0; to < matrix.size(); ++to) text += fmt::format("  {:>7}", to);
  for (std::size_t from = 0; from < matrix.size(); ++from) {
    text += fmt::format("\n# {:>5}", from);
    for (std::size_t to = 0; to < matrix.size(); ++to) {
      text += "  " + (from == to ? std::string("      -") : fitted(matrix[from][to], kTimeWidth));
    }
  }
  return text + "\n";
}

std::string fit_line(const NamedFit& named) {
  const LineFit& fit = named.fit;
  const std::string slope =
      fit.beta_s > 0.0
          ? fmt::format("{:.4g} ns/KiB +- {:.2g} ({:.4g} GB/s)", fit.beta_s * 1e9 * 1024,
                        fit.beta_error * 1e9 * 1024, 1e-9 / fit.beta_s)
          : "latency alone: bandwidth needs two sizes that take twice as long";
  return fmt::format(
      "# Fit {} {}: {:.3g} us +- {:.2g}, {}, largest residual {:.0f} % over {} sizes\n",
      named.operation, named.type, fit.alpha_s * 1e6, fit.alpha_error * 1e6, slope,
      fit.residual_percent, fit.points);
}

}  // namespace

std::string fitted(double value, int width) {
  if (!std::isfinite(value)) return fmt::format("{:>{}}", value, width);
  const int digits = digits_before_point(value);
  if (digits < width - 2) return fmt::format("{:{}.2f}", value, width);
  if (digits < width - 1) return fmt::format("{:{}.1f}", value, width);
  if (digits < width + 1) return fmt::format("{:{}.0f}", value, width);
  return fmt::format("{:{}.{}e}", value, width, width >= kTimeWidth ? 1 : 0);
}

std::string text_preamble(const BenchReport& report, std::string_view operation) {
  const BenchOptions& options = report.options;
  const bool is_factor = options.sizes.factor > 1;
  std::string text = fmt::format(
      "# muster {}, output of nccl-tests version 2.19.6 nccl-headers=0 nccl-library=0\n"
      "# Collective test starting: {}_perf\n"
      "# nThread 1 nGpus {} minBytes {} maxBytes {} step: {}({}) warmup iters: {} iters: {} agg "
      "iters: {} validation: {} graph: 0 unalign: {}\n",
      report.version, operation, options.per_host, options.sizes.least, options.sizes.most,
      is_factor ? options.sizes.factor : options.sizes.step, is_factor ? "factor" : "bytes",
      options.warmup, options.iterations, options.aggregated, options.check_rounds,
      options.unalign);
  if (options.per_iteration) {
    text +=
        "# Per-Iteration Report: monotonic clock; i_* uses the slowest rank of each iteration\n";
  }
  if (options.percentiles) {
    text +=
        "# Percentiles: out_* (out-of-place) and in_* (in-place) over iterations, the slowest rank "
        "of each\n";
  }
  text += fmt::format("# Back end: {}\n#\n# Using devices\n", report.backend);
  for (const BenchDevice& device : report.devices) {
    text +=
        fmt::format("#  Rank {:2} Group {:2} Pid {:6} on {:>10} device {:2} [0000:00:00] {}\n",
                    device.rank, 0, device.pid, device.host, device.local_rank, device.description);
  }
  text.pop_back();
  return text;
}

std::string text_header(const BenchOptions& options) {
  std::vector<std::string_view> iteration_names;
  std::vector<std::string_view> iteration_units;
  if (options.per_iteration) {
    iteration_names = {"i_min", "i_max", "i_p99", "i_cv%"};
    iteration_units = {"(us)", "(us)", "(us)", "(%)"};
  }
  const std::string_view title =
      options.per_iteration ? "              out-of-place (+ per-iteration)                        "
                              "        in-place (+ "
                              "per-iteration)"
                            : "           out-of-place                       in-place          ";
  const std::string names = half_header(
      {options.cpu_time ? "cputime" : "time", "algbw", "busbw", "#wrong"}, iteration_names);
  const std::string units = half_header({"(us)", "(GB/s)", "(GB/s)", ""}, iteration_units);
  const int pad = options.timestamps ? 19 : 0;
  std::string more_names;
  std::string more_units;
  if (options.percentiles) {
    more_names =
        cells({"out_p50", "out_p95", "out_p99", "out_max", "in_p50", "in_p95", "in_p99", "in_max"},
              kTimeWidth);
    more_units =
        cells({"(us)", "(us)", "(us)", "(us)", "(us)", "(us)", "(us)", "(us)"}, kTimeWidth);
  }
  return fmt::format("#\n{}{}\n{}{}{} {:>{}}{}\n{}{}{} {:>{}}{}",
                     left_columns("", "", {"", "", ""}), title,
                     left_columns("size", "count", {"type", "redop", "root"}), names, names,
                     options.timestamps ? "timestamp" : "", pad, more_names,
                     left_columns("(B)", "(elements)", {"", "", ""}), units, units,
                     options.timestamps ? "%Y-%m-%d %H:%M:%S" : "", pad, more_units);
}

std::string text_row(const BenchRow& row, const BenchOptions& options) {
  std::string text = fmt::format("{:12}  {:12}  {:>8}  {:>6}  {:6}", row.bytes, row.count, row.type,
                                 row.reduction, row.root);
  text += half_cells(row.out_of_place, options);
  text += half_cells(row.in_place, options);
  if (options.timestamps) text += fmt::format("{:>21}", row.time);
  if (options.percentiles) {
    text += percentile_cells(row.out_of_place) + percentile_cells(row.in_place);
  }
  return text;
}

std::string text_footer(const BenchSummary& summary, std::string_view operation) {
  return fmt::format(
      "# {:<20} : {} {}\n# {:<20} : {:g} {}\n#\n# Collective test concluded: {}_perf",
      "Out of bounds values", summary.failed_checks, summary.failed_checks > 0 ? "FAILED" : "OK",
      "Avg bus bandwidth", summary.bandwidth,
      !summary.is_bandwidth_checked ? "" : (summary.is_bandwidth_enough ? "OK" : "FAILED"),
      operation);
}

std::string text_additions(const BenchReport& report) {
  std::string text;
  for (const NamedFit& fit : report.fits) text += fit_line(fit);
  for (const BenchRow& row : report.rows) {
    if (!row.expectation) continue;
    const std::string root = row.root < 0 ? "" : fmt::format(" root {}", row.root);
    text += fmt::format("# Expect {} {}{} {} B: the links allow {:.4g} us, reached {:.0f} %\n",
                        row.operation, row.type, root, row.bytes, row.expectation->time_us,
                        row.expectation->reached_percent);
  }
  if (report.pairs) {
    if (report.options.pairs) {
      text += matrix_lines("Pairs, time of 8 B (us)", report.pairs->latency_us);
      text += matrix_lines("Pairs, bandwidth each way of 1 MiB (GB/s)", report.pairs->bandwidth);
    }
    for (const std::string& finding : report.pairs->findings) text += "# " + finding + "\n";
  }
  if (!text.empty()) text.pop_back();
  return text;
}

}  // namespace muster::runtime
