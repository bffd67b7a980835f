#pragma once

#include <cstdint>
#include <span>

// What a test wants of kernels/cpu/simd/simd.hpp, compiled once per instruction set.

/// One instruction set's functions, applied to every element of arrays.
struct SimdProbe {
  int width;
  void (*exp)(std::span<const float> x, std::span<float> y);
  void (*max_or_nan)(float a, float b, float* result);
  void (*min_or_nan)(float a, float b, float* result);
  float (*sum)(std::span<const float> one_vector);
  float (*maximum)(std::span<const float> one_vector);
};

namespace muster::kernels::cpu::avx2 {
SimdProbe probe();
}
namespace muster::kernels::cpu::avx512 {
SimdProbe probe();
}
