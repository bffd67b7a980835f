#include "kernels/base/error.hpp"

#include <fmt/format.h>

namespace muster {

std::string_view to_string(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::invalid_argument: return "invalid argument";
    case ErrorCode::config: return "config";
    case ErrorCode::io: return "i/o";
    case ErrorCode::timeout: return "timeout";
    case ErrorCode::peer_lost: return "peer lost";
    case ErrorCode::stopped: return "stopped";
    case ErrorCode::out_of_memory: return "out of memory";
    case ErrorCode::device: return "device";
    case ErrorCode::unsupported: return "unsupported";
    case ErrorCode::internal: return "internal";
  }
  return "unknown";
}

Error::Error(ErrorCode code, std::string_view message, Where where)
    : code_(code), text_(fmt::format("{}: {}", to_string(code), message)) {
  if (code == ErrorCode::internal) text_ += fmt::format("\n  at {}:{}", where.file, where.line);
}

std::string_view Error::message() const noexcept {
  return std::string_view(text_).substr(to_string(code_).size() + 2);
}

void Error::add_context(std::string_view doing) {
  text_ += fmt::format("\n  while {}", doing);
}

void assertion_failed(const char* condition, Where where) {
  throw Error(ErrorCode::internal, fmt::format("broken invariant: {}", condition), where);
}

}  // namespace muster
