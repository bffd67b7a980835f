#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/base/dtype.hpp"
#include "kernels/ops/reduce.hpp"
#include "runtime/bench/sizes.hpp"

namespace muster::runtime {

/// Which rank's time stands in a row: -a 0 to 3.
enum class Averaging { rank_0, mean, min, max };

enum class TextFormat { nccl, osu };

/// Longest time until all ranks of a benchmark have found each other.
inline constexpr double kBenchStartTimeout = 300.0;  // seconds

/// What `muster bench` is asked to do; the defaults are those of nccl-tests 2.19.6.
struct BenchOptions {
  std::vector<std::string> operations;  // names from bench_operations()
  SizeRange sizes;
  int iterations = 20;
  int aggregated = 1;  // calls in flight at once
  int warmup = 1;
  int run_cycles = 1;    // of all sizes; 0: until stopped
  int check_rounds = 1;  // 0: results are not checked
  std::vector<kernels::ReduceOp> reductions = {kernels::ReduceOp::sum};
  std::vector<Dtype> dtypes = {Dtype::f32};
  int root = 0;  // -1: every rank in turn
  Averaging averaging = Averaging::mean;
  double timeout_s = 300.0;  // of one call
  bool cpu_time = false;     // show the time until the calls have returned, not until they are done
  bool timestamps = false;
  bool per_iteration = false;  // -I: four columns a half
  int per_iteration_skip = 0;  // first iterations that these leave out
  int unalign = 0;             // elements by which the buffers begin later
  int per_host = 1;            // what -g said, for the preamble

  std::string backend = "auto";
  std::string algorithm;  // as AlgorithmTable::use() reads it; empty: not chosen
  bool percentiles = false;
  bool pairs = false;
  bool fit = false;
  bool expect = false;
  TextFormat format = TextFormat::nccl;
  std::string json;  // file names; empty: none
  std::string csv;
  std::string html;
  double least_bandwidth = -1.0;  // GB/s: NCCL_TESTS_MIN_BW; -1: not checked

  std::vector<std::string> arguments;  // the command line, for the record

  /// Times of single iterations are kept when something shows them.
  bool keeps_iterations() const noexcept {
    return per_iteration || percentiles || format == TextFormat::osu;
  }
};

/// What cannot be seen from one option alone: for ranks that are about to start. Error
/// (invalid_argument) names the options that do not go together, or the root that is no rank; those
/// of check_algorithms().
void check_bench_options(const BenchOptions& options, int ranks);

}  // namespace muster::runtime
