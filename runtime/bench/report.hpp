#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "collectives/select.hpp"
#include "runtime/bench/bench_options.hpp"

namespace muster::runtime {

/// One half of a row: out of place or in place.
struct HalfResult {
  double time_us = 0.0;  // of one call, over ranks as -a says; with -C until the calls returned
  double algbw = 0.0;    // GB/s
  double busbw = 0.0;    // GB/s
  std::optional<std::int64_t> wrong;  // elements on all ranks; none when not checked
  std::vector<double> samples_us;     // means over parts of the loop, slowest rank: the spread
  /// [ranks][iterations] when single iterations are kept, those of -K left out.
  std::vector<std::vector<double>> iterations_us;
  std::string first_wrong;  // which rank, index and values
};

/// The time of every iteration on its slowest rank; empty when they were not kept.
std::vector<double> slowest_iterations(const HalfResult& half);

/// What --expect adds to a row.
struct Expectation {
  double time_us = 0.0;        // what the limiting pair allows
  double reached_percent = 0;  // expected / measured time, the better half
};

/// One line of the table.
struct BenchRow {
  std::string operation;
  std::int64_t bytes = 0;  // the larger of sent and received
  std::int64_t count = 0;  // elements per rank
  std::string type;
  std::string reduction;  // "none" where there is none
  int root = -1;          // -1 where there is none
  int iterations = 0;
  HalfResult out_of_place;
  HalfResult in_place;
  std::optional<Expectation> expectation;
  std::string time;  // of day, when it was measured
};

/// A rank as the preamble shows it.
struct BenchDevice {
  int rank = 0;
  int pid = 0;
  std::string host;
  int local_rank = 0;
  std::string description;
};

/// t = alpha + beta * bytes.
struct LineFit {
  double alpha_s = 0.0;
  double alpha_error = 0.0;  // half of the 95 % interval
  double beta_s = 0.0;       // per byte; 0: the sizes are too small to tell
  double beta_error = 0.0;
  double residual_percent = 0.0;  // largest, of the measured time
  int points = 0;
};

/// The fit of one operation's rows of one type, reduction and root.
struct NamedFit {
  std::string operation;
  std::string type;
  LineFit fit;
};

/// What each pair of ranks reached alone, [ranks][ranks], symmetric, 0 on the diagonal.
struct PairMatrix {
  std::vector<std::vector<double>> latency_us;  // of 8 B
  std::vector<std::vector<double>> bandwidth;   // GB/s each way, of 1 MiB
  std::vector<std::string> findings;            // the slow ends and links by name
};

/// All that is known at the end; writers take what they need.
struct BenchReport {
  BenchOptions options;
  std::string version;  // of muster
  std::string backend;
  std::optional<collectives::AlgorithmTable> algorithms;  // where the back end has a choice
  std::vector<BenchDevice> devices;
  std::vector<std::string> environment;  // "NAME=VALUE", filtered
  std::string start_time;
  std::string end_time;
  std::vector<BenchRow> rows;
  std::optional<PairMatrix> pairs;
  std::vector<NamedFit> fits;
};

/// The last lines of a report.
struct BenchSummary {
  int failed_checks = 0;
  double bandwidth = 0.0;  // mean of busbw over all halves
  bool is_bandwidth_checked = false;
  bool is_bandwidth_enough = true;

  bool is_good() const noexcept { return failed_checks == 0 && is_bandwidth_enough; }
};

/// `least_bandwidth`: as BenchOptions; nine tenths of it are enough.
BenchSummary summarize(const std::vector<BenchRow>& rows, double least_bandwidth);

/// The time of day as nccl-tests writes it: "2026-01-31 23:59:59".
std::string time_of_day();

}  // namespace muster::runtime
