#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "kernels/base/half.hpp"

namespace muster {

/// The element types a tensor can have.
enum class Dtype : std::uint8_t { f64, f32, f16, bf16, i64, i32, i8, u8 };

/// Bytes per element.
std::size_t size_of(Dtype dtype) noexcept;

/// "f32", "bf16", …
std::string_view to_string(Dtype dtype) noexcept;

/// The inverse of to_string; nothing for any other text.
std::optional<Dtype> parse_dtype(std::string_view text) noexcept;

bool is_floating(Dtype dtype) noexcept;

/// The Dtype of a C++ element type: dtype_of<float> is Dtype::f32.
template <typename T>
inline constexpr Dtype dtype_of = Dtype::u8;
template <>
inline constexpr Dtype dtype_of<double> = Dtype::f64;
template <>
inline constexpr Dtype dtype_of<float> = Dtype::f32;
template <>
inline constexpr Dtype dtype_of<Half> = Dtype::f16;
template <>
inline constexpr Dtype dtype_of<Bfloat16> = Dtype::bf16;
template <>
inline constexpr Dtype dtype_of<std::int64_t> = Dtype::i64;
template <>
inline constexpr Dtype dtype_of<std::int32_t> = Dtype::i32;
template <>
inline constexpr Dtype dtype_of<std::int8_t> = Dtype::i8;

}  // namespace muster
