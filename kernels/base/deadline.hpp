#pragma once

#include <algorithm>
#include <chrono>

#include "kernels/base/seconds.hpp"

namespace muster {

/// A moment on the monotonic clock after which waiting is an error. Copyable, comparable by time.
class Deadline {
 public:
  using Clock = std::chrono::steady_clock;

  static Deadline after(Clock::duration wait) { return Deadline(Clock::now() + wait); }
  static Deadline after_seconds(double seconds) { return after(duration_of(seconds)); }
  static Deadline never() { return Deadline(Clock::time_point::max()); }

  bool is_never() const noexcept { return when_ == Clock::time_point::max(); }
  bool has_passed() const noexcept { return !is_never() && Clock::now() >= when_; }
  Clock::time_point when() const noexcept { return when_; }

  /// Time left, zero when passed, and a day at most so that it fits every system call's unit.
  Clock::duration remaining() const noexcept {
    const Clock::duration day = std::chrono::hours(24);
    if (is_never()) return day;
    return std::clamp<Clock::duration>(when_ - Clock::now(), Clock::duration::zero(), day);
  }

 private:
  explicit Deadline(Clock::time_point when) : when_(when) {}

  Clock::time_point when_;
};

}  // namespace muster
