#include "runtime/probe/ops.hpp"

#include <algorithm>
#include <chrono>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "kernels/base/seconds.hpp"
#include "kernels/ops/elementwise.hpp"

namespace muster::runtime {
namespace {

using Clock = std::chrono::steady_clock;

void run_timed(const BoundList& bound, const std::vector<std::size_t>& chosen,
               std::vector<double>& spent) {
  Clock::time_point begin = Clock::now();
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    bound.ops()[chosen[i]]();
    const Clock::time_point end = Clock::now();
    spent[i] += seconds_between(begin, end);
    begin = end;
  }
}

void record_matmul_rate(const List& list, const Op& op, double seconds, DeviceProfile& profile) {
  const double flops = op.kind->cost(list, op).flops;
  if (flops == 0.0 || !op.kind->name().starts_with("linear")) return;
  double& rate = profile.matmul_flops[list.value(op.inputs[0]).dtype];
  rate = std::max(rate, flops / seconds);
}

}  // namespace

void measure_ops(const List& list, const BoundList& bound,
                 const std::function<bool(std::size_t)>& is_chosen, double budget_s,
                 DeviceProfile& profile) {
  std::vector<std::size_t> chosen;
  for (std::size_t i = 0; i < list.ops.size(); ++i) {
    const bool is_known = profile.op_seconds.contains(op_key(list, list.ops[i]));
    if (is_chosen(i) && !is_known) chosen.push_back(i);
  }
  if (chosen.empty()) return;
  std::vector<double> spent(chosen.size(), 0.0);
  int repeats = 0;
  for (const std::size_t i : chosen) bound.ops()[i]();
  const Clock::time_point begin = Clock::now();
  do {
    run_timed(bound, chosen, spent);
    ++repeats;
  } while (seconds_between(begin, Clock::now()) < budget_s);

  std::map<std::string, std::pair<double, int>> sums;
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    const Op& op = list.ops[chosen[i]];
    auto& [sum, count] = sums[op_key(list, op)];
    sum += spent[i] / repeats;
    ++count;
    record_matmul_rate(list, op, spent[i] / repeats, profile);
  }
  for (const auto& [key, sum] : sums) profile.op_seconds[key] = sum.first / sum.second;
}

double measure_memory(kernels::Device& device, std::size_t bytes) {
  const Memory a = device.memory().allocate(bytes, "the memory probe");
  const Memory b = device.memory().allocate(bytes, "the memory probe");
  const auto count = static_cast<std::int64_t>(bytes / sizeof(float));
  const TensorView sum(a.data(), Dtype::f32, 1, count);
  const TensorView addend(b.data(), Dtype::f32, 1, count);
  double least = std::numeric_limits<double>::infinity();
  for (int repeat = 0; repeat < 4; ++repeat) {
    const Clock::time_point begin = Clock::now();
    kernels::accumulate(device, {.sum = sum, .addend = addend});
    least = std::min(least, seconds_between(begin, Clock::now()));
  }
  return 3.0 * static_cast<double>(bytes) / least;
}

}  // namespace muster::runtime
