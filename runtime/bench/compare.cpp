#include "runtime/bench/compare.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "kernels/base/error.hpp"
#include "runtime/bench/statistics.hpp"

namespace muster::runtime {
namespace {

using Json = nlohmann::json;

constexpr double kLeastChange = 0.04;       // of the whole: less is not worth an alarm
constexpr double kLargeChange = 0.5;        // of one line
constexpr double kErrors = 3.0;             // standard errors, and spreads of a line
constexpr double kAssumedNoise = 0.05;      // of a file without samples
constexpr double kMadToDeviation = 1.4826;  // of normal numbers
constexpr double kMedianError = 1.2533;     // of n normal numbers: this times deviation / sqrt(n)

struct Level {
  double time_us = 0.0;
  double spread = 0.0;  // relative
};

Level level_of(const ComparedTimes& times) {
  if (times.samples_us.size() < 4) return {times.time_us, kAssumedNoise};
  const double least = quantile(times.samples_us, 0.0);
  const double median = quantile(times.samples_us, 0.5);
  return {least, least > 0.0 ? (median - least) / least : kAssumedNoise};
}

std::string root_text(const Json& row) {
  std::string root = row.at("root").get<std::string>();
  root.erase(0, root.find_first_not_of(' '));
  return root;
}

void read_half(const Json& row, const char* half, std::vector<ComparedTimes>& times) {
  const Json& values = row.at(half);
  if (values.is_null()) return;  // nccl-tests leaves a half out so
  ComparedTimes read;
  const std::string experiment = row.value("experiment_name", std::string("test"));
  read.name = fmt::format("{} {} {} {} {} B {}", experiment, row.at("type").get<std::string>(),
                          row.at("redop").get<std::string>(), root_text(row),
                          row.at("size").get<std::int64_t>(), half);
  read.time_us = values.at(values.contains("time") ? "time" : "cpu_time").get<double>();
  const std::string samples = fmt::format("{}_samples_us", half);
  if (row.contains("muster") && row.at("muster").contains(samples)) {
    read.samples_us = row.at("muster").at(samples).get<std::vector<double>>();
  }
  times.push_back(std::move(read));
}

Comparison::Line compare_line(const ComparedTimes& before, const ComparedTimes& after) {
  const Level old_level = level_of(before);
  const Level new_level = level_of(after);
  Comparison::Line line{
      .name = before.name, .before_us = old_level.time_us, .after_us = new_level.time_us};
  if (!(old_level.time_us > 0.0) || !(new_level.time_us > 0.0)) return line;
  const double change = new_level.time_us / old_level.time_us - 1.0;
  const double noise = kErrors * std::hypot(old_level.spread, new_level.spread);
  line.change_percent = 100.0 * change;
  line.noise_percent = 100.0 * noise;
  line.is_slower = change > std::max(noise, kLeastChange);
  return line;
}

/// Fills what concerns all lines together.
void judge(Comparison& comparison) {
  std::vector<double> changes;
  changes.reserve(comparison.lines.size());
  bool is_one_much_slower = false;
  for (const Comparison::Line& line : comparison.lines) {
    changes.push_back(line.change_percent / 100.0);
    is_one_much_slower |= line.change_percent > 100.0 * kLargeChange &&
                          line.change_percent > kErrors * line.noise_percent;
  }
  const double median = quantile(changes, 0.5);
  std::vector<double> distances;
  distances.reserve(changes.size());
  for (const double change : changes) distances.push_back(std::abs(change - median));
  const double deviation = kMadToDeviation * quantile(distances, 0.5);
  const double error = kMedianError * deviation / std::sqrt(static_cast<double>(changes.size()));
  comparison.change_percent = 100.0 * median;
  comparison.noise_percent = 100.0 * std::max(kErrors * error, kLeastChange);
  // One line alone has no scatter: its own spread must do.
  if (changes.size() == 1) {
    comparison.noise_percent =
        std::max(comparison.noise_percent, comparison.lines.front().noise_percent);
  }
  comparison.is_regression =
      is_one_much_slower || comparison.change_percent > comparison.noise_percent;
}

std::string read_text(const std::string& path) {
  std::ifstream file(path);
  std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (file.bad() || text.empty()) {
    throw Error(ErrorCode::config, fmt::format("{} cannot be read, or is empty", path));
  }
  return text;
}

}  // namespace

std::vector<ComparedTimes> read_times(std::string_view json, const std::string& path) {
  try {
    const Json report = Json::parse(json);
    std::vector<ComparedTimes> times;
    for (const Json& row : report.at("results")) {
      read_half(row, "out_of_place", times);
      read_half(row, "in_place", times);
    }
    return times;
  } catch (const Json::exception& error) {
    throw Error(ErrorCode::config, fmt::format("{} is not a report of muster bench or nccl-tests: "
                                               "{}",
                                               path, error.what()));
  }
}

Comparison compare_times(const std::vector<ComparedTimes>& before,
                         const std::vector<ComparedTimes>& after) {
  std::map<std::string, const ComparedTimes*> later;
  for (const ComparedTimes& times : after) later[times.name] = &times;
  Comparison comparison;
  for (const ComparedTimes& times : before) {
    const auto found = later.find(times.name);
    if (found == later.end()) {
      comparison.unmatched.push_back(times.name);
      continue;
    }
    comparison.lines.push_back(compare_line(times, *found->second));
    later.erase(found);
  }
  for (const auto& [name, times] : later) comparison.unmatched.push_back(name);
  if (comparison.lines.empty()) {
    throw Error(ErrorCode::config, "the two reports have no operation, type and size in common");
  }
  judge(comparison);
  return comparison;
}

std::string comparison_text(const Comparison& comparison) {
  std::string text = fmt::format("# {:<52} {:>12} {:>12} {:>8} {:>8}\n", "measurement",
                                 "before (us)", "after (us)", "change", "noise");
  for (const Comparison::Line& line : comparison.lines) {
    text += fmt::format("  {:<52} {:>12.2f} {:>12.2f} {:>+6.1f} % {:>6.1f} %{}\n", line.name,
                        line.before_us, line.after_us, line.change_percent, line.noise_percent,
                        line.is_slower ? "  slower" : "");
  }
  for (const std::string& name : comparison.unmatched) {
    text += fmt::format("# in one report only: {}\n", name);
  }
  return text + fmt::format(
                    "# {}: times changed by {:+.1f} % (median of {}), beyond noise is "
                    "{:.1f} %",
                    comparison.is_regression ? "REGRESSION" : "no regression",
                    comparison.change_percent, comparison.lines.size(), comparison.noise_percent);
}

Comparison compare_files(const std::string& before, const std::string& after) {
  const std::vector<ComparedTimes> old_times = read_times(read_text(before), before);
  return compare_times(old_times, read_times(read_text(after), after));
}

}  // namespace muster::runtime
