#include "runtime/bench/sizes.hpp"

#include <cctype>
#include <charconv>
#include <optional>

#include <fmt/format.h>

#include "kernels/base/error.hpp"
#include "runtime/config/names.hpp"

namespace muster::runtime {
namespace {

constexpr double kMostBytes = 1099511627776.0 * 1024.0;  // 1 PiB: keeps products of sizes in range

std::optional<double> unit_of(std::string_view suffix) {
  if (suffix.empty()) return 1.0;
  if (suffix.size() != 1) return std::nullopt;
  switch (std::toupper(static_cast<unsigned char>(suffix.front()))) {
    case 'K': return 1024.0;
    case 'M': return 1048576.0;
    case 'G': return 1073741824.0;
    default: return std::nullopt;
  }
}

}  // namespace

std::int64_t parse_size(std::string_view option, std::string_view text) {
  double number = 0.0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number, std::chars_format::fixed);
  const std::optional<double> unit =
      error == std::errc{} ? unit_of({stop, static_cast<std::size_t>(end - stop)}) : std::nullopt;
  if (!unit || !(number >= 0.0) || number * *unit > kMostBytes) {
    throw Error(ErrorCode::config,
                fmt::format("{} {}: a size is a number from 0 to 1048576G, with K, M or G for "
                            "1024, 1024^2 or 1024^3 bytes",
                            option, quote(text)));
  }
  return static_cast<std::int64_t>(number * *unit);
}

std::vector<std::int64_t> sizes_of(const SizeRange& range) {
  if (range.least > range.most) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("the smallest size, {} B (-b), is above the largest, {} B (-e)",
                            range.least, range.most));
  }
  const bool is_factor = range.factor > 1;
  const bool is_endless = is_factor ? range.least == 0 : range.step <= 0;
  if (is_endless && range.least < range.most) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("from {} B the sizes never reach {} B by {} {}; begin above 0, or use "
                            "-i with a step",
                            range.least, range.most, is_factor ? "factor" : "steps of",
                            is_factor ? range.factor : range.step));
  }
  std::vector<std::int64_t> sizes;
  for (std::int64_t size = range.least; size <= range.most;) {
    sizes.push_back(size);
    if (size == range.most) break;
    size = is_factor ? size * range.factor : size + range.step;
  }
  return sizes;
}

}  // namespace muster::runtime
