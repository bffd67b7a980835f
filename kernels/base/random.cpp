#include "kernels/base/random.hpp"

#include <bit>
#include <cmath>
#include <numbers>

namespace muster {
namespace {

constexpr std::uint32_t kMultiplier0 = 0xD2511F53U;
constexpr std::uint32_t kMultiplier1 = 0xCD9E8D57U;
constexpr std::uint32_t kWeyl0 = 0x9E3779B9U;
constexpr std::uint32_t kWeyl1 = 0xBB67AE85U;

std::uint32_t low(std::uint64_t value) noexcept {
  return static_cast<std::uint32_t>(value);
}
std::uint32_t high(std::uint64_t value) noexcept {
  return static_cast<std::uint32_t>(value >> 32);
}

}  // namespace

std::array<std::uint32_t, 4> philox(std::uint64_t key, std::uint64_t counter_low,
                                    std::uint64_t counter_high) noexcept {
  std::array<std::uint32_t, 4> c{low(counter_low), high(counter_low), low(counter_high),
                                 high(counter_high)};
  std::uint32_t k0 = low(key);
  std::uint32_t k1 = high(key);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = std::uint64_t{kMultiplier0} * c[0];
    const std::uint64_t p1 = std::uint64_t{kMultiplier1} * c[2];
    c = {high(p1) ^ c[1] ^ k0, low(p1), high(p0) ^ c[3] ^ k1, low(p0)};
    k0 += kWeyl0;
    k1 += kWeyl1;
  }
  return c;
}

float to_uniform(std::uint32_t word) noexcept {
  return static_cast<float>(word >> 8) * 0x1.0p-24F;
}

float normal(std::uint64_t key, std::uint64_t index) noexcept {
  const auto words = philox(key, index / 2);
  const float u1 = 1.0F - to_uniform(words[0]);  // in (0, 1]: the logarithm is finite
  const float u2 = to_uniform(words[1]);
  const float radius = std::sqrt(-2.0F * std::log(u1));
  const float angle = 2.0F * std::numbers::pi_v<float> * u2;
  return radius * (index % 2 == 0 ? std::cos(angle) : std::sin(angle));
}

std::uint64_t mix(std::uint64_t a, std::uint64_t b) noexcept {
  const auto words = philox(a, b);
  return (std::uint64_t{words[1]} << 32) | words[0];
}

std::uint64_t permute(std::uint64_t key, std::uint64_t index, std::uint64_t n) noexcept {
  const auto half_bits = static_cast<unsigned>((std::bit_width(n - 1) + 1) / 2);
  if (half_bits == 0) return index;
  const std::uint64_t mask = (std::uint64_t{1} << half_bits) - 1;
  std::uint64_t value = index;
  do {  // at most four values of the network's domain share a place below n: expected < 4 rounds
    std::uint64_t left = value >> half_bits;
    std::uint64_t right = value & mask;
    for (std::uint64_t round = 0; round < 6; ++round) {
      const std::uint64_t next = left ^ (mix(key + round, right) & mask);
      left = right;
      right = next;
    }
    value = (left << half_bits) | right;
  } while (value >= n);
  return value;
}

}  // namespace muster
