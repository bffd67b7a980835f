#include "kernels/ops/adamw.hpp"

#include <cmath>

#include "kernels/cpu/parallel.hpp"
#include "kernels/cpu/simd/dispatch.hpp"
#include "kernels/cpu/simd/kernels.hpp"
#include "kernels/cpu/simd/simd.hpp"

namespace muster::kernels::cpu::MUSTER_ISA {
namespace {

constexpr std::int64_t kGrain = 8192;

/// Everything that is the same for all elements, rounded to f32 once.
struct Factors {
  float scale;
  float keep;  // 1 - lr * weight_decay
  float beta1;
  float one_minus_beta1;
  float beta2;
  float one_minus_beta2;
  float step_size;  // -lr / bias_correction1
  float root_correction2;
  float eps;
};

Factors factors_of(const AdamwArgs& args) {
  const AdamwStep& step = *args.step;
  const double lr = step.lr;
  return {.scale = step.gradient_scale,
          .keep = static_cast<float>(1.0 - lr * static_cast<double>(args.weight_decay)),
          .beta1 = args.beta1,
          .one_minus_beta1 = static_cast<float>(1.0 - static_cast<double>(args.beta1)),
          .beta2 = args.beta2,
          .one_minus_beta2 = static_cast<float>(1.0 - static_cast<double>(args.beta2)),
          .step_size = static_cast<float>(-lr / step.bias_correction1),
          .root_correction2 = static_cast<float>(std::sqrt(step.bias_correction2)),
          .eps = args.eps};
}

struct State {
  Floats p;
  Floats m;
  Floats v;
};

State updated(const State& old, Floats grad, const Factors& f) {
  const auto set = Floats::set;
  const Floats g = set(f.scale) * grad;
  const Floats m = set(f.beta1) * old.m + set(f.one_minus_beta1) * g;
  const Floats v = set(f.beta2) * old.v + set(f.one_minus_beta2) * g * g;
  const Floats denominator = sqrt(v) / set(f.root_correction2) + set(f.eps);
  const Floats p = set(f.keep) * old.p + set(f.step_size) * m / denominator;
  return {p, m, v};
}

/// Elements [begin, end); `compute` may be null.
template <typename Compute>
void update_part(const AdamwArgs& args, const Factors& factors, std::int64_t begin,
                 std::int64_t end) {
  float* const p = args.master.row<float>(0);
  float* const m = args.m.row<float>(0);
  float* const v = args.v.row<float>(0);
  const float* const grad = args.grad.row<float>(0);
  Compute* const compute = args.compute.is_none() ? nullptr : args.compute.row<Compute>(0);
  std::int64_t i = begin;
  for (; i + kWidth <= end; i += kWidth) {
    const State now = updated({load(p + i), load(m + i), load(v + i)}, load(grad + i), factors);
    store(p + i, now.p);
    store(m + i, now.m);
    store(v + i, now.v);
    if (compute != nullptr) store(compute + i, now.p);
  }
  const std::int64_t rest = end - i;
  if (rest == 0) return;
  const State old{load_first(p + i, rest), load_first(m + i, rest), load_first(v + i, rest)};
  const State now = updated(old, load_first(grad + i, rest), factors);
  store_first(p + i, now.p, rest);
  store_first(m + i, now.m, rest);
  store_first(v + i, now.v, rest);
  if (compute != nullptr) store_first(compute + i, now.p, rest);
}

}  // namespace

void adamw(Device& device, const AdamwArgs& args) {
  const Factors factors = factors_of(args);
  with_float(args.compute.dtype, [&](auto type) {
    using Compute = typename decltype(type)::type;
    parallel_for(device.threads(), args.master.count(), kGrain,
                 [&](std::int64_t begin, std::int64_t end) {
                   update_part<Compute>(args, factors, begin, end);
                 });
  });
}

}  // namespace muster::kernels::cpu::MUSTER_ISA
