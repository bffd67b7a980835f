#include "runtime/config/names.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

namespace muster::runtime {
namespace {

constexpr std::size_t kLongestQuoted = 80;

void append_escaped(std::string& out, char c) {
  const auto byte = static_cast<unsigned char>(c);
  if (c == '"' || c == '\\') {
    out += {'\\', c};
  } else if (byte < 0x20 || byte == 0x7F) {
    out += fmt::format("\\x{:02x}", byte);
  } else {
    out += c;
  }
}

}  // namespace

std::string quote(std::string_view text) {
  std::string out = "\"";
  for (const char c : text.substr(0, kLongestQuoted)) append_escaped(out, c);
  out += text.size() > kLongestQuoted ? "…\"" : "\"";
  return out;
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  const std::size_t width = b.size() + 1;
  std::vector<std::size_t> before_last(width);
  std::vector<std::size_t> last(width);
  std::vector<std::size_t> row(width);
  for (std::size_t j = 0; j < width; ++j) row[j] = j;

  for (std::size_t i = 1; i <= a.size(); ++i) {
    before_last.swap(last);
    last.swap(row);
    row[0] = i;
    for (std::size_t j = 1; j < width; ++j) {
      const std::size_t change = a[i - 1] == b[j - 1] ? 0 : 1;
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + change});
      const bool is_swap = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (is_swap) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
  }
  return row[b.size()];
}

std::string nearest(std::string_view name, std::span<const std::string> known) {
  const std::string_view wanted = name.substr(0, 256);  // bounds the work on hostile input
  std::size_t best = std::max<std::size_t>(2, wanted.size() / 3) + 1;
  std::string found;
  for (const std::string& candidate : known) {
    const std::size_t distance = edit_distance(wanted, candidate);
    if (distance < best) {
      best = distance;
      found = candidate;
    }
  }
  return found;
}

}  // namespace muster::runtime
