#include "runtime/probe/links.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>

#include "kernels/base/memory.hpp"
#include "kernels/base/seconds.hpp"

namespace muster::runtime {
namespace {

using Clock = std::chrono::steady_clock;

double time_all_reduce(collectives::Communicator& group, TensorView data) {
  const Clock::time_point begin = Clock::now();
  group.all_reduce(data, data, collectives::ReduceOp::sum, {.label = "probe"}).wait();
  return seconds_since(begin);
}

/// The largest of every rank's value, the same number on all ranks.
double agree_on_largest(collectives::Communicator& group, double value) {
  const TensorView view = vector_view(&value, 1);
  group.all_reduce(view, view, collectives::ReduceOp::max, {.label = "probe"}).wait();
  return value;
}

/// The minimum over repeats, of the slowest rank. The number of repeats follows from a first call
/// that all ranks agree on, so that they make the same calls.
double measure_size(collectives::Communicator& group, TensorView data, double budget_s) {
  constexpr double kMostRepeats = 200.0;
  group.barrier({.label = "probe"});
  time_all_reduce(group, data);  // first touch, pages, caches
  const double once = agree_on_largest(group, time_all_reduce(group, data));
  const auto repeats = static_cast<int>(std::clamp(budget_s / once, 3.0, kMostRepeats));
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < repeats; ++i) least = std::min(least, time_all_reduce(group, data));
  return agree_on_largest(group, least);
}

double slope(const std::map<std::int64_t, double>& measured) {
  if (measured.size() < 2) return 0.0;
  const auto last = std::prev(measured.end());
  const auto before = std::prev(last);
  return std::max(
      0.0, (last->second - before->second) / static_cast<double>(last->first - before->first));
}

}  // namespace

LinkProfile measure_links(collectives::Communicator& group, double largest, double budget_s) {
  LinkProfile profile;
  if (group.size() == 1) return profile;
  const auto limit = static_cast<std::int64_t>(std::clamp(largest, 65536.0, 16.0 * 1024 * 1024));
  const Memory memory = group.memory().allocate(static_cast<std::size_t>(limit), "the link probe");
  const double share = budget_s / 8.0;
  for (std::int64_t bytes = 8; bytes <= limit; bytes *= 8) {
    const TensorView data(memory.data(), Dtype::f32, 1, bytes / 4);
    const double seconds = measure_size(group, data, share);
    profile.all_reduce_s[bytes] = seconds;
    if (seconds * 8.0 * 3.0 > budget_s) break;
  }
  profile.alpha_s = profile.all_reduce_s.begin()->second;
  profile.beta_s_per_byte = slope(profile.all_reduce_s);
  return profile;
}

}  // namespace muster::runtime
