#pragma once

#include "runtime/bench/report.hpp"

namespace muster::runtime {

/// A report of two ranks, two rows of all_reduce and nothing else, for the tests of its writers.
inline BenchReport sample_report() {
  BenchReport report;
  report.options.operations = {"all_reduce"};
  report.options.sizes = {.least = 1024, .most = 2048, .factor = 2};
  report.options.arguments = {"muster", "bench", "all_reduce"};
  report.version = "1.2.3-abc";
  report.backend = "shm";
  report.start_time = "2026-01-01 00:00:00";
  report.end_time = "2026-01-01 00:00:09";
  report.environment = {"NCCL_DEBUG=INFO"};
  report.devices = {
      {.rank = 0, .pid = 71, .host = "alpha", .description = "cpu, 1 thread"},
      {.rank = 1, .pid = 72, .host = "alpha", .local_rank = 1, .description = "cpu, 1 thread"}};
  for (const std::int64_t bytes : {1024, 2048}) {
    BenchRow row{.operation = "all_reduce",
                 .bytes = bytes,
                 .count = bytes / 4,
                 .type = "float",
                 .reduction = "sum",
                 .iterations = 20,
                 .time = "2026-01-01 00:00:05"};
    row.out_of_place = {.time_us = static_cast<double>(bytes) / 100.0,
                        .algbw = 0.1,
                        .busbw = 0.1,
                        .wrong = 0,
                        .samples_us = {10.0, 11.0, 10.5, 10.25}};
    row.in_place = row.out_of_place;
    row.in_place.busbw = 0.3;
    report.rows.push_back(row);
  }
  return report;
}

}  // namespace muster::runtime
