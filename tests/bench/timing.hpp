#pragma once

#include <algorithm>
#include <ctime>
#include <functional>
#include <vector>

namespace muster::bench {

/// Seconds that pass for a calculation of `threads` threads: for one, those the process had a
/// processor, so that other processes on the machine count less; for more, those on the wall.
inline double now_s(int threads) {
  timespec time{};
  clock_gettime(threads == 1 ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// How long and how often to measure.
struct Timing {
  int threads = 1;
  int turns = 9;
  double turn_s = 0.02;
};

/// Median seconds per call of each function. They take turns, so that a machine that is faster at
/// one moment than at another favours none; a turn repeats its function for about `turn_s`.
inline std::vector<double> interleaved(const std::vector<std::function<void()>>& functions,
                                       const Timing& timing) {
  const auto seconds = [&](const std::function<void()>& fn, int repeats) {
    const double begin = now_s(timing.threads);
    for (int i = 0; i < repeats; ++i) fn();
    return (now_s(timing.threads) - begin) / repeats;
  };
  std::vector<int> repeats;
  for (const auto& fn : functions) {
    fn();  // first use: code is made, memory is touched
    const double once = std::max(1e-9, seconds(fn, 1));
    repeats.push_back(std::max(1, static_cast<int>(timing.turn_s / once)));
  }
  std::vector<std::vector<double>> times(functions.size());
  for (int turn = 0; turn < timing.turns; ++turn) {
    for (std::size_t i = 0; i < functions.size(); ++i) {
      times[i].push_back(seconds(functions[i], repeats[i]));
    }
  }
  std::vector<double> medians;
  for (auto& all : times) {
    const auto middle = static_cast<std::ptrdiff_t>(all.size() / 2);
    std::nth_element(all.begin(), all.begin() + middle, all.end());
    medians.push_back(all[static_cast<std::size_t>(middle)]);
  }
  return medians;
}

}  // namespace muster::bench
