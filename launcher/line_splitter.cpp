#include "launcher/line_splitter.hpp"

#include <algorithm>

namespace muster::launcher {
namespace {

constexpr char kEscape = '\x1b';

/// Length of the escape sequence that `text` begins with: "ESC [ parameters letter", or two bytes.
std::size_t escape_length(std::string_view text) {
  if (text.size() < 2 || text[1] != '[') return std::min<std::size_t>(text.size(), 2);
  std::size_t length = 2;
  while (length < text.size() && (text[length] < '@' || text[length] > '~')) ++length;
  return std::min(length + 1, text.size());
}

bool is_control(char c) {
  return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f;
}

}  // namespace

void LineSplitter::add(std::string_view bytes, const Take& take) {
  while (!bytes.empty()) {
    const std::size_t room = kMaxLineBytes - rest_.size();
    const std::size_t newline = bytes.substr(0, room + 1).find('\n');
    if (newline == std::string_view::npos) {
      rest_ += bytes.substr(0, room);
      bytes.remove_prefix(std::min(room, bytes.size()));
      if (rest_.size() == kMaxLineBytes && !bytes.empty()) finish(take);
      continue;
    }
    rest_ += bytes.substr(0, newline);
    bytes.remove_prefix(newline + 1);
    take(rest_);
    rest_.clear();
  }
}

void LineSplitter::finish(const Take& take) {
  if (!rest_.empty()) take(rest_);
  rest_.clear();
}

std::string printable(std::string_view line) {
  std::string result;
  result.reserve(line.size());
  while (!line.empty()) {
    if (line.front() == kEscape) {
      line.remove_prefix(escape_length(line));
      continue;
    }
    if (!is_control(line.front())) result += line.front();
    line.remove_prefix(1);
  }
  return result;
}

}  // namespace muster::launcher
