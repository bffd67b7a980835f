#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace muster::runtime {

/// Message sizes in bytes from `least` to `most`: times `factor` each when that is above 1, else
/// plus `step` each.
struct SizeRange {
  std::int64_t least = std::int64_t{32} << 20;
  std::int64_t most = std::int64_t{32} << 20;
  std::int64_t step = std::int64_t{1} << 20;
  std::int64_t factor = 1;
};

/// Reads "8", "1.5K", "32M" or "1G": K, M, G (small letters too) are binary, fractions of a byte
/// are cut off. Error(config) names `option`, the text and what is allowed.
std::int64_t parse_size(std::string_view option, std::string_view text);

/// The sizes of a range, ascending. Error(invalid_argument) for a range that is empty or has no
/// end.
std::vector<std::int64_t> sizes_of(const SizeRange& range);

}  // namespace muster::runtime
