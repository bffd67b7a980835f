#include "runtime/probe/toml_string.hpp"

#include <fmt/format.h>

namespace muster::runtime {

std::string toml_string(std::string_view text) {
  constexpr unsigned char kSpace = 0x20;
  constexpr unsigned char kDelete = 0x7f;
  std::string out = "\"";
  for (const char letter : text) {
    const auto byte = static_cast<unsigned char>(letter);
    if (letter == '"' || letter == '\\') {
      out += '\\';
      out += letter;
    } else if (byte < kSpace || byte == kDelete) {
      out += fmt::format("\\u{:04X}", byte);
    } else {
      out += letter;
    }
  }
  return out + '"';
}

}  // namespace muster::runtime
