#pragma once

#include <exception>
#include <string>
#include <string_view>
#include <utility>

namespace muster {

/// What kind of failure it was; callers branch on this, never on the text.
enum class ErrorCode {
  invalid_argument,  // the caller broke a documented precondition
  config,            // the user's file or flags are wrong
  io,
  timeout,
  peer_lost,  // another rank is gone: abort the group, do not retry
  stopped,    // asked to stop; the state is saved and resumable
  out_of_memory,
  device,
  unsupported,
  internal,
};

std::string_view to_string(ErrorCode code) noexcept;

/// A place in the source. Stands in for std::source_location, which clang-tidy 14 cannot parse.
struct Where {
  const char* file;
  int line;

  static constexpr Where here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return {file, line};
  }
};

/// The one exception type muster throws. Each layer it passes through may say what it was doing.
///
/// what() is `code: message`, one indented line per context, innermost first, and, for internal
/// errors only, the place in the source: a user's mistake needs no line of ours.
class Error : public std::exception {
 public:
  Error(ErrorCode code, std::string_view message, Where where = Where::here());

  ErrorCode code() const noexcept { return code_; }
  const char* what() const noexcept override { return text_.c_str(); }
  /// what() without its code.
  std::string_view message() const noexcept;

  void add_context(std::string_view doing);

 private:
  ErrorCode code_;
  std::string text_;
};

/// Runs `body`; an Error that leaves it gains the line that `describe` returns.
/// `describe` runs only on failure, so hot paths pay nothing for good messages.
template <typename Describe, typename Body>
decltype(auto) with_context(Describe&& describe, Body&& body) {
  try {
    return std::forward<Body>(body)();
  } catch (Error& error) {
    error.add_context(std::forward<Describe>(describe)());
    throw;
  }
}

/// Throws Error(internal) naming the broken invariant. Called by MUSTER_ASSERT only.
[[noreturn]] void assertion_failed(const char* condition, Where where);

/// An invariant of our own code, checked in every build. A user's mistake is an Error instead.
#define MUSTER_ASSERT(condition)      \
  ((condition) ? static_cast<void>(0) \
               : ::muster::assertion_failed(#condition, ::muster::Where::here()))

}  // namespace muster
