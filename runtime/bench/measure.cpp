#include "runtime/bench/measure.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>

#include <fmt/format.h>

#include "kernels/base/seconds.hpp"
#include "runtime/bench/names.hpp"
#include "runtime/bench/statistics.hpp"

namespace muster::runtime {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kSamples = 16;  // parts of a loop whose means tell the spread

BenchLayout layout_of(const BenchCase& which, std::int64_t bytes,
                      const collectives::Communicator& group) {
  const std::size_t size = size_of(which.dtype);
  return which.operation.layout({.count = bytes / static_cast<std::int64_t>(size),
                                 .element_bytes = size,
                                 .rank = group.rank(),
                                 .ranks = group.size()});
}

std::size_t bytes_of(const BenchLayout& layout, Dtype dtype) {
  return static_cast<std::size_t>(std::max(layout.in, layout.out)) * size_of(dtype);
}

/// Elements that this rank itself sends: a share may be smaller than the largest.
std::int64_t own_input(const BenchLayout& layout) {
  if (layout.in_counts.empty()) return layout.in;
  std::int64_t sum = 0;
  for (const std::int64_t count : layout.in_counts) sum += count;
  return sum;
}

}  // namespace

/// One half of one row.
struct Bench::Task {
  const BenchCase& which;
  BenchLayout layout;
  bool is_in_place = false;  // and there is an in-place form

  std::size_t bytes() const { return bytes_of(layout, which.dtype); }
};

BenchBuffers::BenchBuffers(collectives::Communicator& group, std::size_t bytes,
                           std::size_t unalign_bytes)
    : bytes_(bytes),
      unalign_bytes_(unalign_bytes),
      in_(group.memory().allocate(bytes + unalign_bytes, "benchmark input")),
      out_(group.memory().allocate(bytes + unalign_bytes, "benchmark output")) {
  in_.touch();
  out_.touch();
}

std::size_t buffer_bytes(const std::vector<BenchCase>& cases, std::int64_t most, int ranks) {
  std::size_t bytes = 256;
  for (const BenchCase& which : cases) {
    const std::size_t size = size_of(which.dtype);
    const BenchLayout layout =
        which.operation.layout({.count = most / static_cast<std::int64_t>(size),
                                .element_bytes = size,
                                .rank = 0,
                                .ranks = ranks});
    bytes = std::max(bytes, bytes_of(layout, which.dtype));
  }
  return bytes;
}

Bench::Bench(collectives::Communicator& group, const BenchOptions& options, BenchBuffers& buffers)
    : group_(group), options_(options), buffers_(buffers) {
  in_flight_.reserve(static_cast<std::size_t>(options.aggregated));
}

void Bench::warm_up(const BenchCase& which) {
  group_.barrier({.timeout_s = options_.timeout_s});
  for (const std::int64_t bytes : {options_.sizes.most, options_.sizes.least}) {
    const Task task{.which = which, .layout = layout_of(which, bytes, group_)};
    for (int i = 0; i < options_.warmup; ++i) run_iteration(task, i);
  }
}

BenchRow Bench::measure(const BenchCase& which, std::int64_t bytes) {
  Task task{.which = which, .layout = layout_of(which, bytes, group_)};
  BenchRow row;
  row.operation = which.operation.name;
  row.bytes = static_cast<std::int64_t>(task.bytes());
  row.count = task.layout.per_rank;
  row.type = nccl_name(which.dtype);
  row.reduction = which.operation.is_reduction ? collectives::to_string(which.op) : "none";
  row.root = which.operation.has_root ? which.root : -1;
  row.iterations = options_.iterations;
  row.out_of_place = measure_half(task);
  task.is_in_place = which.operation.works_in_place;
  row.in_place = measure_half(task);
  if (!which.operation.works_in_place) row.in_place.wrong.reset();
  row.time = time_of_day();
  return row;
}

HalfResult Bench::measure_half(const Task& task) {
  if (options_.check_rounds > 0) fill(task, seed_);  // real data in the timed loop
  const Timing timing = time_calls(task);
  HalfResult result;
  const std::vector<double> seconds =
      gather({options_.cpu_time ? timing.cpu_seconds : timing.seconds});
  const std::vector<double> bandwidth_seconds = gather({timing.seconds});
  result.time_us = average_over_ranks(seconds, options_.averaging) * 1e6;
  const double whole = average_over_ranks(bandwidth_seconds, options_.averaging);
  const auto counted =
      static_cast<double>(task.which.operation.counted(task.layout, group_.size()) *
                          static_cast<std::int64_t>(size_of(task.which.dtype)));
  result.algbw = whole > 0.0 ? counted / whole / 1e9 : 0.0;
  result.busbw = result.algbw * task.which.operation.bus_factor(group_.size());

  std::vector<double> samples = timing.samples;
  const TensorView view = vector_view(samples.data(), std::ssize(samples));
  group_.all_reduce(view, view, kernels::ReduceOp::max, {.timeout_s = options_.timeout_s}).wait();
  for (const double sample : samples) result.samples_us.push_back(sample * 1e6);
  if (options_.keeps_iterations()) result.iterations_us = gather_iterations(timing.iterations);
  if (options_.check_rounds > 0) check(task, result);
  return result;
}

Bench::Timing Bench::time_calls(const Task& task) {
  Timing timing;
  const int n = options_.iterations;
  const int samples = std::min(kSamples, n);
  const double calls = static_cast<double>(n) * options_.aggregated;
  timing.iterations.reserve(static_cast<std::size_t>(n));
  group_.barrier({.timeout_s = options_.timeout_s});
  const Clock::time_point begin = Clock::now();
  Clock::time_point sample_begin = begin;
  int done = 0;
  for (int sample = 1; sample <= samples; ++sample) {
    const int end = static_cast<int>(static_cast<std::int64_t>(n) * sample / samples);
    const double count = static_cast<double>(end - done) * options_.aggregated;
    for (; done < end; ++done) {
      const Clock::time_point start =
          options_.keeps_iterations() ? Clock::now() : Clock::time_point();
      timing.cpu_seconds += run_iteration(task, done) / calls;
      if (options_.keeps_iterations()) {
        timing.iterations.push_back(seconds_since(start) / options_.aggregated);
      }
    }
    timing.samples.push_back(seconds_since(sample_begin) / count);
    sample_begin = Clock::now();
  }
  timing.seconds = seconds_since(begin) / calls;
  return timing;
}

/// Starts the calls of one iteration and waits for them. Returns the seconds until all had been
/// started, when somebody wants to see them.
double Bench::run_iteration(const Task& task, int iteration) {
  const Clock::time_point begin = options_.cpu_time ? Clock::now() : Clock::time_point();
  for (int i = 0; i < options_.aggregated; ++i) {
    in_flight_.push_back(
        task.which.operation.start(call(task, iteration * options_.aggregated + i)));
  }
  const double seconds = options_.cpu_time ? seconds_since(begin) : 0.0;
  for (collectives::Pending& pending : in_flight_) pending.wait();
  in_flight_.clear();
  return seconds;
}

/// The call of an iteration: each works on other parts of the buffers, so that caches do not
/// flatter small sizes more than a program's own buffers would.
BenchCall Bench::call(const Task& task, int iteration) {
  const std::size_t bytes = task.bytes();
  const std::size_t places = bytes == 0 ? 1 : std::max<std::size_t>(buffers_.bytes() / bytes, 1);
  const std::size_t shift = bytes * (static_cast<std::size_t>(iteration) % places);
  const auto element = static_cast<std::int64_t>(size_of(task.which.dtype));
  BenchCall call{.group = group_,
                 .layout = task.layout,
                 .in = buffers_.in() + shift,
                 .out = buffers_.out() + shift,
                 .dtype = task.which.dtype,
                 .op = task.which.op,
                 .root = task.which.root,
                 .options = {.label = task.which.operation.name, .timeout_s = options_.timeout_s}};
  if (task.is_in_place) {
    call.in = call.out + task.layout.in_offset * group_.rank() * element;
    call.out += task.layout.out_offset * group_.rank() * element;
  }
  return call;
}

void Bench::check(const Task& task, HalfResult& result) {
  WrongElements wrong;
  for (int round = 0; round < options_.check_rounds && wrong.count == 0; ++round) {
    wrong = check_once(task, ++seed_);
    std::int64_t sum = wrong.count;
    const TensorView view = vector_view(&sum, 1);
    group_.all_reduce(view, view, kernels::ReduceOp::sum, {.timeout_s = options_.timeout_s}).wait();
    result.wrong = sum;
    if (sum > 0) break;  // the same on all ranks
  }
  if (result.wrong.value_or(0) > 0) result.first_wrong = first_wrong(wrong);
}

/// Puts this rank's input where the first call expects it, and zeros where its output comes.
InputPattern Bench::fill(const Task& task, std::uint64_t seed) {
  InputPattern pattern{.dtype = task.which.dtype, .ranks = group_.size(), .seed = seed};
  if (task.which.operation.is_reduction) pattern.op = task.which.op;
  std::memset(buffers_.out(), 0, task.bytes());
  fill_pattern(pattern, group_.rank(), 0,
               {call(task, 0).in, task.which.dtype, 1, own_input(task.layout)});
  return pattern;
}

WrongElements Bench::check_once(const Task& task, std::uint64_t seed) {
  const BenchOperation& operation = task.which.operation;
  const InputPattern pattern = fill(task, seed);
  const BenchCall first = call(task, 0);
  operation.start(first).wait();
  const std::vector<Segment> segments = operation.expected({.layout = task.layout,
                                                            .rank = group_.rank(),
                                                            .ranks = group_.size(),
                                                            .root = task.which.root,
                                                            .is_in_place = task.is_in_place});
  return find_wrong(pattern, segments, {first.out, task.which.dtype, 1, task.layout.out});
}

/// [ranks][mine.size()] one after the other.
std::vector<double> Bench::gather(std::vector<double> mine) {
  std::vector<double> all(mine.size() * static_cast<std::size_t>(group_.size()));
  group_
      .all_gather(vector_view(mine.data(), std::ssize(mine)),
                  vector_view(all.data(), std::ssize(all)), {.timeout_s = options_.timeout_s})
      .wait();
  return all;
}

std::vector<std::vector<double>> Bench::gather_iterations(const std::vector<double>& mine) {
  const std::vector<double> kept(mine.begin() + options_.per_iteration_skip, mine.end());
  const std::vector<double> all = gather(kept);
  std::vector<std::vector<double>> ranks;
  for (auto begin = all.begin(); begin != all.end(); begin += std::ssize(kept)) {
    ranks.emplace_back(begin, begin + std::ssize(kept));
    for (double& seconds : ranks.back()) seconds *= 1e6;
  }
  return ranks;
}

/// The finding of the first rank that has one, with its number, on every rank.
std::string Bench::first_wrong(const WrongElements& wrong) {
  const std::vector<double> all =
      gather({static_cast<double>(wrong.count), static_cast<double>(wrong.first_index), wrong.found,
              wrong.expected});
  for (std::size_t rank = 0; rank * 4 < all.size(); ++rank) {
    const double* const its = all.data() + rank * 4;
    if (its[0] == 0.0) continue;
    return fmt::format("rank {}: {}", rank,
                       WrongElements{.count = static_cast<std::int64_t>(its[0]),
                                     .first_index = static_cast<std::int64_t>(its[1]),
                                     .found = its[2],
                                     .expected = its[3]}
                           .text());
  }
  return {};
}

}  // namespace muster::runtime
