#pragma once

#include "kernels/base/dtype.hpp"
#include "kernels/base/error.hpp"

namespace muster::kernels::cpu::MUSTER_ISA {

/// Names a C++ element type as a value, so that a generic lambda can be called with it.
template <typename T>
struct Type {
  using type = T;
};

/// Calls fn(Type<T>{}) with T the element type of `dtype`: f32, bf16 or f16. This is where a
/// run-time dtype becomes a template parameter.
template <typename Function>
void with_float(Dtype dtype, const Function& fn) {
  switch (dtype) {
    case Dtype::f32: return fn(Type<float>{});
    case Dtype::bf16: return fn(Type<Bfloat16>{});
    case Dtype::f16: return fn(Type<Half>{});
    default: MUSTER_ASSERT(dtype == Dtype::f32);  // the checks of kernels/ops let nothing else by
  }
}

}  // namespace muster::kernels::cpu::MUSTER_ISA
