#pragma once

#include <chrono>
#include <cstdint>

namespace muster::collectives::trace {

/// A cheap clock for records: the processor's cycle counter where it runs evenly through all sleep
/// states, else the monotonic clock. A record says which; its reader turns ticks into nanoseconds
/// with one pair of readings that the record begins with and one of its own.
class Clock {
 public:
  Clock() noexcept : uses_cycles_(has_steady_cycles()) {}

  std::uint64_t ticks() const noexcept {
    return uses_cycles_ ? cycles() : static_cast<std::uint64_t>(monotonic_ns());
  }
  static std::uint64_t cycles() noexcept { return __builtin_ia32_rdtsc(); }
  bool uses_cycles() const noexcept { return uses_cycles_; }

  static std::int64_t monotonic_ns() noexcept {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }

 private:
  static bool has_steady_cycles() noexcept;

  bool uses_cycles_;
};

/// Both clocks at one moment.
struct ClockPair {
  std::uint64_t ticks = 0;
  std::int64_t ns = 0;

  static ClockPair now(const Clock& clock) noexcept {
    return {clock.ticks(), Clock::monotonic_ns()};
  }
};

/// Ticks to monotonic nanoseconds, from two pairs of readings.
class ClockLine {
 public:
  ClockLine(const ClockPair& early, const ClockPair& late) noexcept;

  std::int64_t ns_at(std::uint64_t ticks) const noexcept;
  std::int64_t duration_ns(std::uint64_t ticks) const noexcept;

 private:
  ClockPair late_;
  double ns_per_tick_;
};

}  // namespace muster::collectives::trace
