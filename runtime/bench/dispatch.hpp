#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

#include "kernels/base/dtype.hpp"

namespace muster::runtime {

/// Calls visit(std::type_identity<T>()) with the C++ type of a dtype.
template <typename Visit>
decltype(auto) visit_dtype(Dtype dtype, Visit&& visit) {
  switch (dtype) {
    case Dtype::f64: return std::forward<Visit>(visit)(std::type_identity<double>());
    case Dtype::f32: return std::forward<Visit>(visit)(std::type_identity<float>());
    case Dtype::f16: return std::forward<Visit>(visit)(std::type_identity<Half>());
    case Dtype::bf16: return std::forward<Visit>(visit)(std::type_identity<Bfloat16>());
    case Dtype::i64: return std::forward<Visit>(visit)(std::type_identity<std::int64_t>());
    case Dtype::i32: return std::forward<Visit>(visit)(std::type_identity<std::int32_t>());
    case Dtype::i8: return std::forward<Visit>(visit)(std::type_identity<std::int8_t>());
    case Dtype::u8: break;
  }
  return std::forward<Visit>(visit)(std::type_identity<std::uint8_t>());
}

/// The value of an element as a double.
template <typename T>
double to_double(T value) noexcept {
  if constexpr (std::is_arithmetic_v<T>) {
    return static_cast<double>(value);
  } else {
    return static_cast<double>(static_cast<float>(value));
  }
}

/// The element nearest to a double; the caller keeps integers within their range.
template <typename T>
T from_double(double value) noexcept {
  if constexpr (std::is_arithmetic_v<T>) {
    return static_cast<T>(value);
  } else {
    return T(static_cast<float>(value));
  }
}

}  // namespace muster::runtime
