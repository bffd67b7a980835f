#include "runtime/probe/links.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>

#include "kernels/base/memory.hpp"
#include "runtime/pairs/timed_calls.hpp"

namespace muster::runtime {
namespace {

constexpr int kMostRepeats = 200;
// Whatever the budget, sizes up to this are measured: smaller ones are latency, and a slope between
// two of them is noise.
constexpr double kTellsBandwidth = 256.0 * 1024;
constexpr double kMostBytes = 16.0 * 1024 * 1024;

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
  const auto limit = static_cast<std::int64_t>(std::clamp(largest, kTellsBandwidth, kMostBytes));
  const Memory memory = group.memory().allocate(static_cast<std::size_t>(limit), "the link probe");
  const double share = budget_s / 8.0;
  for (std::int64_t bytes = 8; bytes <= limit; bytes *= 8) {
    const TensorView data(memory.data(), Dtype::f32, 1, bytes / 4);
    const double seconds = time_together(group, share, kMostRepeats, [&] {
      group.all_reduce(data, data, collectives::ReduceOp::sum, {.label = "probe"}).wait();
    });
    profile.all_reduce_s[bytes] = seconds;
    if (static_cast<double>(bytes) >= kTellsBandwidth && seconds * 8.0 * 3.0 > budget_s) break;
  }
  profile.alpha_s = profile.all_reduce_s.begin()->second;
  profile.beta_s_per_byte = slope(profile.all_reduce_s);
  return profile;
}

}  // namespace muster::runtime
