#pragma once

#include <cstdint>
#include <vector>

#include "collectives/communicator.hpp"
#include "runtime/bench/bench_options.hpp"
#include "runtime/bench/operations.hpp"
#include "runtime/bench/report.hpp"

namespace muster::runtime {

/// One kind of call that is measured: every size of it becomes a row.
struct BenchCase {
  const BenchOperation& operation;
  Dtype dtype = Dtype::f32;
  kernels::ReduceOp op = kernels::ReduceOp::sum;
  int root = 0;
};

/// A rank's two buffers of a benchmark, in memory that the group's peers reach. Collective to make.
/// Both begin `unalign` elements late and have room for the largest size, and for many calls of a
/// smaller one beside each other.
class BenchBuffers {
 public:
  BenchBuffers(collectives::Communicator& group, std::size_t bytes, std::size_t unalign_bytes);

  std::byte* in() const noexcept { return in_.data() + unalign_bytes_; }
  std::byte* out() const noexcept { return out_.data() + unalign_bytes_; }
  std::size_t bytes() const noexcept { return bytes_; }

 private:
  std::size_t bytes_;
  std::size_t unalign_bytes_;
  Memory in_;
  Memory out_;
};

/// Most bytes that a buffer needs for these cases at these sizes.
std::size_t buffer_bytes(const std::vector<BenchCase>& cases, std::int64_t most, int ranks);

/// Measures and checks on a group. One thread.
class Bench {
 public:
  /// All must outlive it.
  Bench(collectives::Communicator& group, const BenchOptions& options, BenchBuffers& buffers);

  /// Calls that are not measured: of the largest size, then of the smallest.
  void warm_up(const BenchCase& which);

  /// One row. Collective; every rank gets the same.
  BenchRow measure(const BenchCase& which, std::int64_t bytes);

 private:
  struct Timing {
    double seconds = 0.0;      // of one call
    double cpu_seconds = 0.0;  // until it has returned
    std::vector<double> samples;
    std::vector<double> iterations;
  };
  struct Task;

  HalfResult measure_half(const Task& task);
  Timing time_calls(const Task& task);
  double run_iteration(const Task& task, int iteration);
  void check(const Task& task, HalfResult& result);
  InputPattern fill(const Task& task, std::uint64_t seed);
  WrongElements check_once(const Task& task, std::uint64_t seed);
  BenchCall call(const Task& task, int iteration);
  std::vector<double> gather(std::vector<double> mine);
  std::vector<std::vector<double>> gather_iterations(const std::vector<double>& mine);
  std::string first_wrong(const WrongElements& wrong);

  collectives::Communicator& group_;
  const BenchOptions& options_;
  BenchBuffers& buffers_;
  std::vector<collectives::Pending> in_flight_;
  std::uint64_t seed_ = 1;
};

}  // namespace muster::runtime
