#include "runtime/control/reporters.hpp"

#include <algorithm>
#include <cerrno>
#include <cmath>

#include <fmt/format.h>

#include "collectives/net/fd.hpp"
#include "kernels/base/error.hpp"

namespace muster::runtime {
namespace {

constexpr std::chrono::milliseconds kBetweenRedraws{100};
constexpr std::chrono::seconds kLongestSilence{10};
constexpr double kGib = 1024.0 * 1024.0 * 1024.0;

std::string with_separators(double value) {
  const std::string digits = fmt::format("{:.0f}", value);
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

std::string duration_text(double seconds) {
  const auto whole = static_cast<std::int64_t>(std::llround(std::min(seconds, 1e12)));
  if (whole < 60) return fmt::format("{}s", whole);
  if (whole < 3600) return fmt::format("{}m{:02}s", whole / 60, whole % 60);
  return fmt::format("{}h{:02}m", whole / 3600, whole / 60 % 60);
}

std::string step_time_text(double seconds) {
  return seconds < 1.0 ? fmt::format("{:.3g} ms/step", seconds * 1e3)
                       : fmt::format("{:.3g} s/step", seconds);
}

}  // namespace

std::string progress_line(const Progress& progress) {
  std::string line = fmt::format("step {}/{}  loss {:.4f}  lr {:.2e}", progress.step,
                                 progress.steps, progress.loss, progress.lr);
  if (progress.tokens_per_s > 0) {
    line += fmt::format("  {} tokens/s", with_separators(progress.tokens_per_s));
  }
  if (progress.gradient_norm > 0) line += fmt::format("  grad {:.3g}", progress.gradient_norm);
  if (progress.step_seconds > 0) line += fmt::format("  {}", step_time_text(progress.step_seconds));
  if (progress.memory_bytes > 0) line += fmt::format("  {:.2f} GiB", progress.memory_bytes / kGib);
  if (progress.eta_s > 0) line += fmt::format("  left {}", duration_text(progress.eta_s));
  return line;
}

bool LineInterval::is_due(const Progress& progress, Clock::time_point now) {
  const bool is_due = is_first_ || progress.step == progress.steps ||
                      (interval_ > 0 && progress.step % interval_ == 0) ||
                      now - last_ >= kLongestSilence;
  is_first_ = false;
  if (is_due) last_ = now;
  return is_due;
}

LauncherReporter::LauncherReporter(LauncherLink& link, std::int64_t interval)
    : link_(link), interval_(interval) {}

void LauncherReporter::lines(std::string_view text) {
  if (text.ends_with('\n')) text.remove_suffix(1);
  while (text.size() > kMaxMessageText) {
    const std::size_t newline = text.substr(0, kMaxMessageText).rfind('\n');
    const std::size_t cut = newline == std::string_view::npos ? kMaxMessageText : newline;
    link_.send(LinesMessage{std::string(text.substr(0, cut))});
    text.remove_prefix(newline == std::string_view::npos ? cut : cut + 1);
  }
  link_.send(LinesMessage{std::string(text)});
}

void LauncherReporter::progress(const Progress& progress) {
  const Clock::time_point now = Clock::now();
  const bool is_due = interval_.is_due(progress, now);
  if (!is_due && now - last_sent_ < kBetweenRedraws) return;
  last_sent_ = now;
  link_.send_progress({progress, is_due});
}

PrintReporter::PrintReporter(std::FILE* out, std::int64_t interval)
    : out_(out), interval_(interval) {}

void PrintReporter::lines(std::string_view text) {
  const bool ends = text.ends_with('\n');
  const bool is_written = std::fwrite(text.data(), 1, text.size(), out_) == text.size() &&
                          (ends || std::fputc('\n', out_) != EOF) && std::fflush(out_) == 0;
  if (!is_written) {
    throw Error(ErrorCode::io,
                fmt::format("cannot write to standard output: {}", collectives::errno_text(errno)));
  }
}

void PrintReporter::progress(const Progress& progress) {
  if (interval_.is_due(progress, Clock::now())) lines(progress_line(progress));
}

}  // namespace muster::runtime
