#include "runtime/pairs/timed_calls.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <limits>
#include <vector>

#include "kernels/base/seconds.hpp"

namespace muster::runtime {
namespace {

using collectives::Communicator;

constexpr const char* kLabel = "probe";

double time_once(const std::function<void()>& call) {
  const auto begin = std::chrono::steady_clock::now();
  call();
  return seconds_since(begin);
}

/// The largest of every rank's value, the same number on all ranks.
double agree_on_largest(Communicator& group, double value) {
  const TensorView view = vector_view(&value, 1);
  group.all_reduce(view, view, collectives::ReduceOp::max, {.label = kLabel}).wait();
  return value;
}

}  // namespace

// The number of repeats follows from a first call that all ranks agree on, so that they make the
// same calls.
double time_together(Communicator& group, double budget_s, int most,
                     const std::function<void()>& call) {
  group.barrier({.label = kLabel});
  time_once(call);  // first touch, pages, caches
  const double once = agree_on_largest(group, time_once(call));
  const auto repeats =
      static_cast<int>(std::clamp(budget_s / once, 3.0, static_cast<double>(most)));
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < repeats; ++i) least = std::min(least, time_once(call));
  return agree_on_largest(group, least);
}

collectives::LinkProfile measure_neighbours(Communicator& group, double budget_s) {
  constexpr std::size_t kSmall = 8;
  constexpr std::size_t kLarge = 1 << 20;
  constexpr int kMost = 50;
  collectives::LinkProfile profile;
  const int size = group.size();
  if (size == 1) return profile;
  std::vector<std::byte> out(kLarge);
  std::vector<std::byte> in(kLarge);
  const auto time_of = [&](std::size_t bytes) {
    const auto count = static_cast<std::int64_t>(bytes);
    return time_together(group, budget_s, kMost, [&] {
      group
          .send_receive({out.data(), Dtype::u8, 1, count}, (group.rank() + 1) % size,
                        {in.data(), Dtype::u8, 1, count}, (group.rank() + size - 1) % size,
                        {.label = kLabel})
          .wait();
    });
  };
  const double small = time_of(kSmall);
  const double beyond = time_of(kLarge) - small;
  if (beyond <= 0.0) return profile;
  profile.alpha_s = small;
  profile.beta_s_per_byte = beyond / static_cast<double>(kLarge - kSmall);
  return profile;
}

}  // namespace muster::runtime
