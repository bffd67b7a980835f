#include "runtime/dataset/documents.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "kernels/base/error.hpp"
#include "runtime/config/file.hpp"
#include "runtime/dataset/jsonl.hpp"

namespace muster::runtime {
namespace {

constexpr std::int64_t kMaxFileBytes = std::int64_t{1} << 34;

using Use = std::function<void(std::string_view, std::int64_t)>;

/// Cuts a text into lines without their "\n", numbered from 1.
class Lines {
 public:
  explicit Lines(std::string_view text) : text_(text) {}

  bool next() {
    if (end_ >= text_.size()) return false;
    begin_ = end_;
    const std::size_t newline = text_.find('\n', begin_);
    end_ = newline == std::string_view::npos ? text_.size() : newline + 1;
    ++number_;
    return true;
  }
  std::string_view line() const {
    std::string_view line = text_.substr(begin_, end_ - begin_);
    if (line.ends_with('\n')) line.remove_suffix(1);
    return line;
  }
  std::size_t begin() const { return begin_; }
  std::size_t end() const { return end_; }
  std::int64_t number() const { return number_; }

 private:
  std::string_view text_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::int64_t number_ = 0;
};

bool is_blank(std::string_view line) {
  return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

void read_fortunes(std::string_view text, const Use& use) {
  std::size_t begin = 0;
  std::int64_t first_line = 1;
  const auto finish = [&](std::size_t end) {
    if (end > begin) use(text.substr(begin, end - begin), first_line);
  };
  Lines lines(text);
  while (lines.next()) {
    if (lines.line() != "%" && lines.line() != "%\r") continue;
    finish(lines.begin());
    begin = lines.end();
    first_line = lines.number() + 1;
  }
  finish(text.size());
}

struct JsonlReader {
  const std::string& path;
  bool skips;

  SkippedRows read(std::string_view text, const Use& use) const {
    SkippedRows skipped;
    Lines lines(text);
    while (lines.next()) {
      if (is_blank(lines.line())) continue;
      const JsonRow row = parse_json_row(lines.line());
      if (!row.problem.empty()) {
        skip_or_throw(lines.number(), row, skipped);
      } else if (!row.text.empty()) {
        use(row.text, lines.number());
      }
    }
    return skipped;
  }

 private:
  void skip_or_throw(std::int64_t line, const JsonRow& row, SkippedRows& skipped) const {
    const std::string place = row.byte == 0 ? fmt::format("{}:{}", path, line)
                                            : fmt::format("{}:{} byte {}", path, line, row.byte);
    const std::string message = fmt::format("{}: {}", place, row.problem);
    if (!skips) {
      throw Error(ErrorCode::config,
                  message + "; data.on_bad_row = \"skip\" would leave such rows out");
    }
    if (skipped.count == 0) skipped.first = message;
    ++skipped.count;
  }
};

std::string format_of(const DataSource& source) {
  if (source.format != "auto") return source.format;
  const bool is_jsonl = source.path.ends_with(".jsonl") || source.path.ends_with(".ndjson");
  return is_jsonl ? "jsonl" : "text";
}

}  // namespace

SkippedRows read_documents(const DataSource& source, const std::string& on_bad_row,
                           const Use& use) {
  const std::string text = read_file(source.path, kMaxFileBytes);
  const std::string format = format_of(source);
  std::int64_t documents = 0;
  const Use count_and_use = [&](std::string_view document, std::int64_t line) {
    ++documents;
    use(document, line);
  };

  SkippedRows skipped;
  if (format == "jsonl") {
    skipped = JsonlReader{source.path, on_bad_row == "skip"}.read(text, count_and_use);
  } else if (format == "fortune") {
    read_fortunes(text, count_and_use);
  } else if (!text.empty()) {
    count_and_use(text, 1);
  }
  if (documents == 0) {
    throw Error(ErrorCode::config,
                fmt::format("{} ({} bytes, read as {}) has no text; at least one document of one "
                            "byte is needed{}",
                            source.path, text.size(), format,
                            skipped.count == 0 ? ""
                                               : fmt::format("; {} rows were skipped, first {}",
                                                             skipped.count, skipped.first)));
  }
  return skipped;
}

}  // namespace muster::runtime
