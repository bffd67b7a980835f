#pragma once

#include <array>
#include <cstdint>

namespace muster {

/// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011): four
/// random words that are a function of (key, counter) alone, so any element of a random tensor can
/// be made by any rank in any order.
std::array<std::uint32_t, 4> philox(std::uint64_t key, std::uint64_t counter_low,
                                    std::uint64_t counter_high = 0) noexcept;

/// Uniform in [0, 1) with 24 bits.
float to_uniform(std::uint32_t word) noexcept;

/// Element `index` of the standard normal tensor named by `key` (Box-Muller on philox words).
float normal(std::uint64_t key, std::uint64_t index) noexcept;

/// Mixes two numbers into a key, for example a seed and the number of a tensor.
std::uint64_t mix(std::uint64_t a, std::uint64_t b) noexcept;

/// The place of `index` in a pseudo-random permutation of [0, n) named by `key`: a bijection,
/// computed without any table (a Feistel network with cycle walking). index < n, n >= 1.
std::uint64_t permute(std::uint64_t key, std::uint64_t index, std::uint64_t n) noexcept;

}  // namespace muster
