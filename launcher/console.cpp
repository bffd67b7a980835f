#include "launcher/console.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "launcher/line_splitter.hpp"
#include "runtime/control/reporters.hpp"

namespace muster::launcher {
namespace {

constexpr std::string_view kClearLine = "\r\x1b[K";

/// Calls `take` with every line of a text.
template <typename Take>
void for_each_line(std::string_view text, Take&& take) {
  if (text.ends_with('\n')) text.remove_suffix(1);
  while (true) {
    const std::size_t newline = text.find('\n');
    take(text.substr(0, newline));
    if (newline == std::string_view::npos) return;
    text.remove_prefix(newline + 1);
  }
}

}  // namespace

Console::Console(Terminals terminals, Put put)
    : terminals_(std::move(terminals)), put_(std::move(put)) {}

void Console::report(std::string_view text) {
  for_each_line(text, [&](std::string_view each) { line(Stream::out, printable(each)); });
}

void Console::rank_line(int rank, Stream stream, std::string_view text) {
  line(stream, fmt::format("[{}] {}", rank, printable(text)));
}

void Console::notice(std::string_view text) {
  for_each_line(text, [&](std::string_view each) {
    line(Stream::err, fmt::format("muster: {}", printable(each)));
  });
}

void Console::progress(const runtime::ProgressMessage& message) {
  if (!terminals_.is_out) {
    if (message.is_due) line(Stream::out, runtime::progress_line(message.progress));
    return;
  }
  redrawn_ = runtime::progress_line(message.progress);
  put_(Stream::out, std::string(kClearLine));
  draw();
}

void Console::settle() {
  if (!redrawn_.empty()) put_(Stream::out, "\n");
  redrawn_.clear();
}

void Console::line(Stream stream, std::string text) {
  text += '\n';
  const bool is_on_screen = stream == Stream::out ? terminals_.is_out : terminals_.is_err;
  if (redrawn_.empty() || !is_on_screen) {
    put_(stream, std::move(text));
    return;
  }
  put_(Stream::out, std::string(kClearLine));
  put_(stream, std::move(text));
  draw();
}

void Console::draw() {
  // A line that wraps could not be cleared.
  const int columns = std::max(terminals_.columns(), 2);
  put_(Stream::out, redrawn_.substr(0, static_cast<std::size_t>(columns - 1)));
}

}  // namespace muster::launcher
