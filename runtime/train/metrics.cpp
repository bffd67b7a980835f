#include "runtime/train/metrics.hpp"

#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "kernels/base/error.hpp"
#include "kernels/base/log.hpp"

namespace muster::runtime {
namespace {

/// The lines of steps up to `last_step`; a last line without an end is what a crash left.
std::vector<std::string> lines_to_keep(const std::string& path, std::int64_t last_step) {
  std::vector<std::string> lines;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    const auto object = nlohmann::json::parse(line, nullptr, false);
    if (!object.is_object() || object.value("step", std::int64_t{0}) > last_step) continue;
    lines.push_back(std::move(line));
  }
  return lines;
}

void rewrite(const std::string& path, const std::vector<std::string>& lines) {
  const std::string fresh = path + ".new";
  {
    std::ofstream out(fresh, std::ios::trunc);
    for (const std::string& line : lines) out << line << '\n';
    if (!out.flush()) {
      throw Error(ErrorCode::io, fmt::format("cannot write {}: {}", fresh, std::strerror(errno)));
    }
  }
  std::filesystem::rename(fresh, path);
}

/// JSON knows no infinity and no NaN.
struct JsonNumber {
  double value;
};

}  // namespace
}  // namespace muster::runtime

template <>
struct fmt::formatter<muster::runtime::JsonNumber> : fmt::formatter<double> {
  template <typename Context>
  auto format(muster::runtime::JsonNumber number, Context& context) const {
    if (!std::isfinite(number.value)) return fmt::format_to(context.out(), "null");
    return fmt::format_to(context.out(), "{:.9g}", number.value);
  }
};

namespace muster::runtime {

MetricsFile::MetricsFile(const std::string& path, std::int64_t last_step) : path_(path) {
  if (std::filesystem::exists(path)) rewrite(path, lines_to_keep(path, last_step));
  fd_ = open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
  if (fd_ < 0) {
    throw Error(ErrorCode::io, fmt::format("cannot open {}: {}", path, std::strerror(errno)));
  }
}

MetricsFile::~MetricsFile() {
  close(fd_);
}

void MetricsFile::write_line(std::string_view line) {
  errno = ENOSPC;  // what a short write means
  const bool is_whole = write(fd_, line.data(), line.size()) == static_cast<ssize_t>(line.size());
  if (is_whole) {
    is_failing_ = false;
    return;
  }
  if (!is_failing_) {
    log_warning(
        fmt::format("cannot write {}: {}; training goes on, its lines are lost until it can "
                    "be written again",
                    path_, std::strerror(errno)));
  }
  is_failing_ = true;
}

void MetricsFile::write_step(const StepMetrics& m) {
  auto end = fmt::format_to_n(
      buffer_.data(), buffer_.size(),
      R"({{"step":{},"loss":{},"lr":{},"tokens_per_s":{},"grad_norm":{},"step_seconds":{},)"
      R"("target_tokens":{},"loss_scale":{},"skipped":{},"memory_bytes":{},"arena_bytes":{})",
      m.step, JsonNumber{m.loss}, JsonNumber{m.lr}, JsonNumber{m.tokens_per_s},
      JsonNumber{m.grad_norm}, JsonNumber{m.step_seconds}, m.target_tokens,
      JsonNumber{m.loss_scale}, m.is_skipped, m.memory_bytes, m.arena_bytes);
  std::size_t size = end.size;
  if (m.heap_allocations >= 0) {
    size += fmt::format_to_n(buffer_.data() + size, buffer_.size() - size,
                             R"(,"heap_allocations":{})", m.heap_allocations)
                .size;
  }
  size += fmt::format_to_n(buffer_.data() + size, buffer_.size() - size, "}}\n").size;
  write_line({buffer_.data(), size});
}

void MetricsFile::write_validation(std::int64_t step, double loss, std::int64_t tokens) {
  const auto end = fmt::format_to_n(buffer_.data(), buffer_.size(),
                                    R"({{"step":{},"val_loss":{},"val_tokens":{}}})"
                                    "\n",
                                    step, JsonNumber{loss}, tokens);
  write_line({buffer_.data(), end.size});
}

}  // namespace muster::runtime
