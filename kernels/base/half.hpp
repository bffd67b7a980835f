#pragma once

#include <bit>
#include <cstdint>

namespace muster {

/// bfloat16: the upper half of an f32. Conversion from f32 rounds to nearest, ties to even; a NaN
/// stays a (quiet) NaN.
struct Bfloat16 {
  std::uint16_t bits = 0;

  Bfloat16() = default;
  explicit Bfloat16(float value) noexcept {
    const auto raw = std::bit_cast<std::uint32_t>(value);
    const bool is_nan = (raw & 0x7FFFFFFFU) > 0x7F800000U;
    const std::uint32_t rounded = raw + 0x7FFFU + ((raw >> 16) & 1U);
    bits = static_cast<std::uint16_t>((is_nan ? raw | 0x00400000U : rounded) >> 16);
  }

  explicit operator float() const noexcept {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
  }
};

/// IEEE 754 binary16. Conversion from f32 rounds to nearest, ties to even; values beyond 65504
/// become infinite, a NaN stays a (quiet) NaN, subnormals are kept.
struct Half {
  std::uint16_t bits = 0;

  Half() = default;
  explicit Half(float value) noexcept;
  explicit operator float() const noexcept;
};

static_assert(sizeof(Bfloat16) == 2 && sizeof(Half) == 2);

}  // namespace muster
