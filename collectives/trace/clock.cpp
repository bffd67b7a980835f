#include "collectives/trace/clock.hpp"

#include <algorithm>

#include <cpuid.h>

namespace muster::collectives::trace {
namespace {

constexpr double kFarAway = 9e18;  // just inside what a 64-bit number of nanoseconds holds

std::int64_t to_ns(double ns) noexcept {
  return static_cast<std::int64_t>(std::clamp(ns, -kFarAway, kFarAway));
}

}  // namespace

bool Clock::has_steady_cycles() noexcept {
  constexpr unsigned int kPowerLeaf = 0x8000'0007;
  constexpr unsigned int kInvariant = 1U << 8;
  unsigned int a = 0;
  unsigned int b = 0;
  unsigned int c = 0;
  unsigned int d = 0;
  return ::__get_cpuid(kPowerLeaf, &a, &b, &c, &d) == 1 && (d & kInvariant) != 0;
}

ClockLine::ClockLine(const ClockPair& early, const ClockPair& late) noexcept : late_(late) {
  const auto ticks = static_cast<double>(late.ticks - early.ticks);
  const auto ns = static_cast<double>(late.ns - early.ns);
  ns_per_tick_ = late.ticks > early.ticks && late.ns > early.ns ? ns / ticks : 1.0;
}

std::int64_t ClockLine::ns_at(std::uint64_t ticks) const noexcept {
  const auto since = ticks > late_.ticks ? static_cast<double>(ticks - late_.ticks)
                                         : -static_cast<double>(late_.ticks - ticks);
  return to_ns(static_cast<double>(late_.ns) + since * ns_per_tick_);
}

std::int64_t ClockLine::duration_ns(std::uint64_t ticks) const noexcept {
  return to_ns(static_cast<double>(ticks) * ns_per_tick_);
}

}  // namespace muster::collectives::trace
