#include "kernels/ops/softmax.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/cpu/parallel.hpp"
#include "kernels/cpu/simd/columns.hpp"
#include "kernels/cpu/simd/dispatch.hpp"
#include "kernels/cpu/simd/kernels.hpp"

namespace muster::kernels::cpu::MUSTER_ISA {
namespace {

/// Exponentials added in f32 before they go to a sum in f64: a vocabulary is long.
constexpr std::int64_t kSumColumns = 1024;

/// The largest of n logits. A NaN is passed over: the sum shows it.
template <typename T>
float largest(const T* logits, std::int64_t n) {
  constexpr float kLowest = -std::numeric_limits<float>::infinity();
  Floats top = Floats::set(kLowest);
  std::int64_t c = 0;
  for (; c + kWidth <= n; c += kWidth) top = max(load(logits + c), top);
  float result = maximum(top);
  for (; c < n; ++c) result = std::max(result, static_cast<float>(logits[c]));
  return result;
}

/// The sum of exp(logit - max). The second reading of a row finds it in cache.
template <typename T>
float sum_of_exponentials(const T* logits, std::int64_t n, float max) {
  const Floats top = Floats::set(max);
  double total = 0.0;
  for (std::int64_t begin = 0; begin < n; begin += kSumColumns) {
    Floats part = Floats::zero();
    for_each_register(std::min(kSumColumns, n - begin), [&](auto lanes, std::int64_t c) {
      part = part + lanes.only(exp(lanes.load(logits + begin + c) - top));
    });
    total += static_cast<double>(sum(part));
  }
  return static_cast<float>(total);
}

template <typename T>
void statistics_row(const SoftmaxStatisticsArgs& args, std::int64_t row) {
  const T* const logits = args.logits.row<T>(row);
  const std::int64_t n = args.logits.cols;
  const float max = largest(logits, n);
  const std::int64_t column = args.targets.row<std::int32_t>(0)[row] - args.vocab_begin;
  const bool is_here = args.targets.row<std::int32_t>(0)[row] >= 0 && column >= 0 && column < n;
  args.max.row<float>(0)[row] = max;
  args.sum.row<float>(0)[row] = sum_of_exponentials(logits, n, max);
  args.target.row<float>(0)[row] = is_here ? static_cast<float>(logits[column]) : 0.0F;
}

/// The rows of logits and of their gradient, which may be of different types.
template <typename To, typename From>
struct GradientRow {
  To* dlogits;
  const From* logits;
  std::int64_t n;
  float max;
  float sum;
  float seed;

  void run(std::int64_t target) const {
    // Where dlogits is logits the target's logit is gone after the loop.
    const bool has_target = target >= 0 && target < n;
    const float logit = has_target ? static_cast<float>(logits[target]) : 0.0F;
    const Floats top = Floats::set(max);
    const Floats scale = Floats::set(seed / sum);
    for_each_register(n, [&](auto lanes, std::int64_t c) {
      lanes.store(dlogits + c, scale * exp(lanes.load(logits + c) - top));
    });
    if (has_target) dlogits[target] = To(seed * (std::exp(logit - max) / sum - 1.0F));
  }
};

template <typename To, typename From>
void gradient_row(const SoftmaxGradientArgs& args, std::int64_t row) {
  To* const dlogits = args.dlogits.row<To>(row);
  const std::int64_t target = args.targets.row<std::int32_t>(0)[row];
  if (target < 0) {
    std::fill_n(dlogits, args.dlogits.cols, To(0.0F));
    return;
  }
  GradientRow<To, From>{dlogits,
                        args.logits.row<From>(row),
                        args.logits.cols,
                        args.max.row<float>(0)[row],
                        args.sum.row<float>(0)[row],
                        args.seed.row<float>(0)[0]}
      .run(target - args.vocab_begin);
}

}  // namespace

void softmax_statistics(Device& device, const SoftmaxStatisticsArgs& args) {
  with_float(args.logits.dtype, [&](auto type) {
    using T = typename decltype(type)::type;
    parallel_for(device.threads(), args.logits.rows, rows_worth_a_thread(args.logits.cols),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t r = begin; r < end; ++r) statistics_row<T>(args, r);
                 });
  });
}

void softmax_loss(Device&, const SoftmaxLossArgs& args) {
  const auto* targets = args.targets.row<std::int32_t>(0);
  const auto* max = args.max.row<float>(0);
  const auto* sum = args.sum.row<float>(0);
  const auto* target = args.target.row<float>(0);
  double total = 0.0;
  for (std::int64_t r = 0; r < args.max.cols; ++r) {
    if (targets[r] < 0) continue;
    total += static_cast<double>(max[r]) + std::log(static_cast<double>(sum[r])) -
             static_cast<double>(target[r]);
  }
  double& loss = *args.loss.row<double>(0);
  loss = args.accumulate ? loss + total : total;
}

void softmax_gradient(Device& device, const SoftmaxGradientArgs& args) {
  with_float(args.dlogits.dtype, [&](auto to) {
    with_float(args.logits.dtype, [&](auto from) {
      using To = typename decltype(to)::type;
      using From = typename decltype(from)::type;
      parallel_for(device.threads(), args.logits.rows, rows_worth_a_thread(args.logits.cols),
                   [&](std::int64_t begin, std::int64_t end) {
                     for (std::int64_t r = begin; r < end; ++r) gradient_row<To, From>(args, r);
                   });
    });
  });
}

}  // namespace muster::kernels::cpu::MUSTER_ISA
