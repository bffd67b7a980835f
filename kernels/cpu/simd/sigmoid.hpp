#pragma once

#include "kernels/cpu/simd/simd.hpp"

namespace muster::kernels::cpu::MUSTER_ISA {

/// 1 / (1 + exp(-x))
inline Floats sigmoid(Floats x) {
  const Floats one = Floats::set(1.0F);
  return one / (one + exp(Floats::zero() - x));
}

}  // namespace muster::kernels::cpu::MUSTER_ISA
