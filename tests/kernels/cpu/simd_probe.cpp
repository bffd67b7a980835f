#include "tests/kernels/cpu/simd_probe.hpp"

#include <algorithm>

#include "kernels/cpu/simd/simd.hpp"

namespace muster::kernels::cpu::MUSTER_ISA {
namespace {

void exp_all(std::span<const float> x, std::span<float> y) {
  for (std::size_t i = 0; i < x.size(); i += kWidth) {
    const auto rest = static_cast<std::int64_t>(x.size() - i);
    if (rest >= kWidth) {
      store(&y[i], exp(load(&x[i])));
    } else {
      store_first(&y[i], exp(load_first(&x[i], rest)), rest);
    }
  }
}

void max_of(float a, float b, float* result) {
  store_first(result, max_or_nan(Floats::set(a), Floats::set(b)), 1);
}
void min_of(float a, float b, float* result) {
  store_first(result, min_or_nan(Floats::set(a), Floats::set(b)), 1);
}
float sum_of(std::span<const float> x) {
  return sum(load(x.data()));
}
float maximum_of(std::span<const float> x) {
  return maximum(load(x.data()));
}

}  // namespace

SimdProbe probe() {
  return {kWidth, exp_all, max_of, min_of, sum_of, maximum_of};
}

}  // namespace muster::kernels::cpu::MUSTER_ISA
