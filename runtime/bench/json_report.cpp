#include "runtime/bench/json_report.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "runtime/bench/statistics.hpp"

namespace muster::runtime {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kVersion = 3;

std::string boolean(bool value) {
  return value ? "true" : "false";
}

Json devices_json(const BenchReport& report) {
  Json devices = Json::array();
  for (const BenchDevice& device : report.devices) {
    devices.push_back({{"rank", device.rank},
                       {"group", 0},
                       {"pid", device.pid},
                       {"hostname", device.host},
                       {"device", device.local_rank},
                       {"device_hex", "0000:00:00"},
                       {"device_info", device.description}});
  }
  return devices;
}

Json config_json(const BenchReport& report) {
  const BenchOptions& options = report.options;
  Json config = {{"nthreads", 1},
                 {"ngpus", options.per_host},
                 {"minimum_bytes", options.sizes.least},
                 {"maximum_bytes", options.sizes.most}};
  if (options.sizes.factor > 1) {
    config["step_factor"] = options.sizes.factor;
  } else {
    config["step_bytes"] = options.sizes.step;
  }
  config["warmup_iters"] = options.warmup;
  config["iterations"] = options.iterations;
  config["aggregated_iterations"] = options.aggregated;
  config["validation"] = options.check_rounds;
  config["graph"] = 0;
  config["blocking_collectives"] = boolean(false);
  config["per_iter_timing"] = boolean(options.per_iteration);
  config["per_iter_skip"] = options.per_iteration_skip;
  config["parallel_init"] = boolean(false);
  config["devices"] = devices_json(report);
  return config;
}

Json half_json(const HalfResult& half, const BenchOptions& options) {
  return {{options.cpu_time ? "cpu_time" : "time", half.time_us},
          {"alg_bw", half.algbw},
          {"bus_bw", half.busbw},
          {"nwrong", half.wrong ? Json(static_cast<double>(*half.wrong)) : Json(nullptr)}};
}

Json iterations_json(const HalfResult& half, int skipped) {
  const std::vector<double> slowest = slowest_iterations(half);
  const IterationStats stats = statistics_of(slowest);
  Json json = {{"skipped_iterations", skipped}, {"min_us", stats.min},
               {"max_us", stats.max},           {"avg_us", stats.mean},
               {"p50_us", stats.p50},           {"p95_us", stats.p95},
               {"p99_us", stats.p99},           {"stdev_us", stats.deviation},
               {"cv_pct", stats.cv_percent()},  {"times_us", slowest}};
  if (half.iterations_us.size() > 1) json["per_process_max_times_us"] = half.iterations_us;
  return json;
}

Json row_json(const BenchRow& row, const BenchOptions& options) {
  Json json = {{"size", row.bytes},
               {"count", row.count},
               {"type", row.type},
               {"redop", row.reduction},
               {"root", fmt::format("{:6}", row.root)}};
  Json own = {{"out_of_place_samples_us", row.out_of_place.samples_us},
              {"in_place_samples_us", row.in_place.samples_us}};
  if (row.expectation) {
    own["expected_us"] = row.expectation->time_us;
    own["reached_percent"] = row.expectation->reached_percent;
  }
  json["out_of_place"] = half_json(row.out_of_place, options);
  if (options.keeps_iterations()) {
    json["out_of_place_per_iter"] = iterations_json(row.out_of_place, options.per_iteration_skip);
  }
  json["in_place"] = half_json(row.in_place, options);
  if (options.keeps_iterations()) {
    json["in_place_per_iter"] = iterations_json(row.in_place, options.per_iteration_skip);
  }
  json["actual_iterations"] = row.iterations;
  json["experiment_name"] = row.operation + "_perf";
  json["muster"] = std::move(own);
  return json;
}

/// Without a slope where the sizes show none.
Json fit_json(const NamedFit& named) {
  const LineFit& fit = named.fit;
  Json json = {{"operation", named.operation},
               {"type", named.type},
               {"alpha_us", fit.alpha_s * 1e6},
               {"alpha_error_us", fit.alpha_error * 1e6},
               {"residual_percent", fit.residual_percent},
               {"points", fit.points}};
  if (fit.beta_s > 0.0) {
    json["beta_ns_per_kib"] = fit.beta_s * 1e9 * 1024;
    json["beta_error_ns_per_kib"] = fit.beta_error * 1e9 * 1024;
  }
  return json;
}

Json own_json(const BenchReport& report) {
  constexpr const char* kAveraging[] = {"rank 0", "mean", "min", "max"};
  Json own = {{"version", report.version},
              {"backend", report.backend},
              {"averaging", kAveraging[static_cast<int>(report.options.averaging)]}};
  if (report.algorithms) {
    own["algo"] = report.algorithms->names();
    own["algorithms"] = report.algorithms->to_text();
  }
  if (report.pairs) {
    own["pairs"] = {{"latency_us", report.pairs->latency_us},
                    {"bandwidth_gbs", report.pairs->bandwidth},
                    {"findings", report.pairs->findings}};
  }
  for (const NamedFit& named : report.fits) own["fits"].push_back(fit_json(named));
  return own;
}

Json errors_json(const BenchReport& report) {
  Json errors = Json::array();
  for (const BenchRow& row : report.rows) {
    for (const HalfResult* half : {&row.out_of_place, &row.in_place}) {
      if (half->first_wrong.empty()) continue;
      errors.push_back(
          fmt::format("{} {} {} B: {}", row.operation, row.type, row.bytes, half->first_wrong));
    }
  }
  return errors;
}

}  // namespace

std::string json_report(const BenchReport& report) {
  const BenchSummary summary = summarize(report.rows, report.options.least_bandwidth);
  Json json = {{"version", kVersion},
               {"start_time", report.start_time},
               {"args", report.options.arguments},
               {"env", report.environment},
               {"nccl_version", 0},
               {"config", config_json(report)},
               {"results", Json::array()}};
  for (const BenchRow& row : report.rows) {
    json["results"].push_back(row_json(row, report.options));
  }
  json["out_of_bounds"] = {{"count", summary.failed_checks},
                           {"okay", boolean(summary.failed_checks == 0)}};
  json["average_bus_bandwidth"] = {
      {"bandwidth", summary.bandwidth},
      {"okay", summary.is_bandwidth_checked ? boolean(summary.is_bandwidth_enough) : "unchecked"}};
  json["errors"] = errors_json(report);
  json["end_time"] = report.end_time;
  json["muster"] = own_json(report);
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace muster::runtime
