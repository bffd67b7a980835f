#include "kernels/base/half.hpp"

#include <cmath>

namespace muster {
namespace {

constexpr std::uint32_t kInfinity = 0x7C00U;
constexpr std::uint32_t kQuietNan = 0x7E00U;

/// `value` shifted right by `shift` bits, rounded to nearest, ties to even.
std::uint32_t shift_right_rounded(std::uint32_t value, unsigned shift) noexcept {
  const std::uint32_t half = 1U << (shift - 1);
  const std::uint32_t rest = value & ((1U << shift) - 1U);
  const std::uint32_t kept = value >> shift;
  const bool up = rest > half || (rest == half && (kept & 1U) != 0U);
  return kept + (up ? 1U : 0U);
}

std::uint32_t magnitude_to_half(std::uint32_t raw) noexcept {
  if (raw > 0x7F800000U) return kQuietNan;
  if (raw >= 0x47800000U) return kInfinity;  // 65536 and above
  const unsigned exponent = raw >> 23;
  if (exponent >= 113U) return shift_right_rounded(raw - (112U << 23), 13U);
  if (exponent < 102U) return 0U;  // below half of the smallest subnormal
  const std::uint32_t mantissa = (raw & 0x7FFFFFU) | 0x800000U;
  return shift_right_rounded(mantissa, 126U - exponent);
}

}  // namespace

Half::Half(float value) noexcept {
  const auto raw = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (raw >> 16) & 0x8000U;
  bits = static_cast<std::uint16_t>(sign | magnitude_to_half(raw & 0x7FFFFFFFU));
}

Half::operator float() const noexcept {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000U) << 16;
  const std::uint32_t exponent = (bits >> 10) & 0x1FU;
  const std::uint32_t mantissa = bits & 0x3FFU;
  if (exponent == 0U) {
    const float magnitude = std::ldexp(static_cast<float>(mantissa), -24);
    return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(magnitude));
  }
  const std::uint32_t wide = exponent == 31U ? 255U : exponent + 112U;
  return std::bit_cast<float>(sign | (wide << 23) | (mantissa << 13));
}

}  // namespace muster
