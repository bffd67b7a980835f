#include "runtime/bench/html_report.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace muster::runtime {
namespace {

constexpr double kWidth = 720.0;
constexpr double kHeight = 260.0;
constexpr double kMargin = 50.0;

constexpr std::string_view kStyle =
    "body{font:14px sans-serif;margin:2em;color:#222}table{border-collapse:collapse;margin:1em 0}"
    "td,th{border:1px solid #bbb;padding:2px 8px;text-align:right}th{background:#eee}"
    "svg{border:1px solid #bbb}.bad{background:#fbb}";

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&': result += "&amp;"; break;
      case '<': result += "&lt;"; break;
      case '>': result += "&gt;"; break;
      case '"': result += "&quot;"; break;
      default: result += c;
    }
  }
  return result;
}

std::vector<const BenchRow*> rows_of(const BenchReport& report, std::string_view operation) {
  std::vector<const BenchRow*> rows;
  for (const BenchRow& row : report.rows) {
    if (row.operation == operation) rows.push_back(&row);
  }
  return rows;
}

/// Bus bandwidth over log2(bytes), both halves. Rows of several types lie on one curve's axes as
/// dots of their own.
std::string curve(const std::vector<const BenchRow*>& rows) {
  double most = 1e-9;
  double first = 1e300;
  double last = 0.0;
  for (const BenchRow* row : rows) {
    most = std::max({most, row->out_of_place.busbw, row->in_place.busbw});
    const double at = std::log2(static_cast<double>(std::max<std::int64_t>(row->bytes, 1)));
    first = std::min(first, at);
    last = std::max(last, at);
  }
  const double span = std::max(last - first, 1.0);
  std::string dots;
  for (const BenchRow* row : rows) {
    const double at = std::log2(static_cast<double>(std::max<std::int64_t>(row->bytes, 1)));
    const double x = kMargin + (kWidth - 2 * kMargin) * (at - first) / span;
    const auto dot = [&](double busbw, std::string_view color, std::string_view half) {
      const double y = kHeight - kMargin - (kHeight - 2 * kMargin) * busbw / most;
      dots += fmt::format(
          "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\" fill=\"{}\"><title>{} {} {} B: {:.4g} "
          "GB/s</title></circle>",
          x, y, color, half, escaped(row->type), row->bytes, busbw);
    };
    dot(row->out_of_place.busbw, "#06c", "out of place");
    dot(row->in_place.busbw, "#c60", "in place");
  }
  return fmt::format(
      "<svg width=\"{0}\" height=\"{1}\"><text x=\"10\" y=\"20\">bus bandwidth, 0 to {2:.4g} GB/s"
      "; blue: out of place, orange: in place</text><line x1=\"{3}\" y1=\"{4}\" x2=\"{5}\" "
      "y2=\"{4}\" stroke=\"#888\"/><text x=\"{3}\" y=\"{6}\">2^{7:.0f} B</text><text x=\"{8}\" "
      "y=\"{6}\">2^{9:.0f} B</text>{10}</svg>",
      kWidth, kHeight, most, kMargin, kHeight - kMargin, kWidth - kMargin, kHeight - 20, first,
      kWidth - 2 * kMargin, last, dots);
}

std::string half_cells(const HalfResult& half) {
  const bool is_bad = half.wrong.value_or(0) > 0;
  return fmt::format("<td>{:.4g}</td><td>{:.4g}</td><td>{:.4g}</td><td{}>{}</td>", half.time_us,
                     half.algbw, half.busbw, is_bad ? " class=\"bad\"" : "",
                     half.wrong ? fmt::format("{}", *half.wrong) : "N/A");
}

std::string table(const std::vector<const BenchRow*>& rows) {
  std::string text =
      "<table><tr><th rowspan=\"2\">bytes</th><th rowspan=\"2\">type</th><th rowspan=\"2\">redop"
      "</th><th rowspan=\"2\">root</th><th colspan=\"4\">out of place</th><th colspan=\"4\">in "
      "place</th></tr><tr><th>time (us)</th><th>algbw (GB/s)</th><th>busbw (GB/s)</th><th>wrong"
      "</th><th>time (us)</th><th>algbw (GB/s)</th><th>busbw (GB/s)</th><th>wrong</th></tr>\n";
  for (const BenchRow* row : rows) {
    text += fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td>{}{}</tr>\n", row->bytes,
                        escaped(row->type), escaped(row->reduction), row->root,
                        half_cells(row->out_of_place), half_cells(row->in_place));
  }
  return text + "</table>\n";
}

/// Colours run from the least to the largest value off the diagonal; `is_more_better` turns them.
std::string heat_map(const std::vector<std::vector<double>>& matrix, bool is_more_better) {
  double least = 1e300;
  double most = 0.0;
  for (std::size_t i = 0; i < matrix.size(); ++i) {
    for (std::size_t j = 0; j < matrix.size(); ++j) {
      if (i == j) continue;
      least = std::min(least, matrix[i][j]);
      most = std::max(most, matrix[i][j]);
    }
  }
  std::string text = "<table><tr><th>rank</th>";
  for (std::size_t j = 0; j < matrix.size(); ++j) text += fmt::format("<th>{}</th>", j);
  text += "</tr>\n";
  for (std::size_t i = 0; i < matrix.size(); ++i) {
    text += fmt::format("<tr><th>{}</th>", i);
    for (std::size_t j = 0; j < matrix.size(); ++j) {
      if (i == j) {
        text += "<td></td>";
        continue;
      }
      const double share = most > least ? (matrix[i][j] - least) / (most - least) : 0.0;
      const double bad = is_more_better ? 1.0 - share : share;
      text += fmt::format(
          "<td style=\"background:hsl({:.0f},70%,80%)\" title=\"rank {} - rank {}\">{:.4g}</td>",
          120.0 * (most > least ? 1.0 - bad : 1.0), i, j, matrix[i][j]);
    }
    text += "</tr>\n";
  }
  return text + "</table>\n";
}

std::string pairs_section(const BenchReport& report) {
  if (!report.pairs) return {};
  std::string text = "<h2>Pairs</h2>\n";
  for (const std::string& finding : report.pairs->findings) {
    text += fmt::format("<p>{}</p>\n", escaped(finding));
  }
  text += "<h3>Time of 8 B (us)</h3>\n" + heat_map(report.pairs->latency_us, false);
  return text + "<h3>Bandwidth of 1 MiB (GB/s)</h3>\n" + heat_map(report.pairs->bandwidth, true);
}

}  // namespace

std::string html_report(const BenchReport& report) {
  std::string text = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>muster bench</title>"
      "<link rel=\"icon\" href=\"data:,\"><style>{}</style></head><body>\n<h1>muster bench</h1>\n"
      "<p>muster {}, {} ranks, back end {}, {} to {}</p>\n",
      kStyle, escaped(report.version), report.devices.size(), escaped(report.backend),
      report.start_time, report.end_time);
  for (const std::string& operation : report.options.operations) {
    const std::vector<const BenchRow*> rows = rows_of(report, operation);
    if (rows.empty()) continue;
    text += fmt::format("<h2>{}</h2>\n{}\n{}", escaped(operation), curve(rows), table(rows));
  }
  return text + pairs_section(report) + "</body></html>\n";
}

}  // namespace muster::runtime
