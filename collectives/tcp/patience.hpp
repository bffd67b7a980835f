#pragma once

#include <chrono>
#include <cstdint>

#include "kernels/base/deadline.hpp"

namespace muster::collectives::tcp {

/// How a wait passes its time, before it sleeps until something comes. Waking a sleeper costs
/// several times what a message takes, so a rank with a core of its own first looks again and
/// again, and one that shares its core offers it to the others, whose message it may be waiting
/// for. The former never offers its core: a stranger who took it would keep it for milliseconds,
/// while a sleeper is woken at once.
struct WaitPolicy {
  std::chrono::microseconds spin{50};
  std::chrono::microseconds yield{0};

  static WaitPolicy of(int cores_per_rank) noexcept {
    if (cores_per_rank > 0) return {};
    return {.spin = std::chrono::microseconds(0), .yield = std::chrono::microseconds(200)};
  }
};

/// The patience of one wait, which is renewed whenever something moves.
class Patience {
 public:
  enum class Advice : std::uint8_t { look_again, yield, sleep };
  using Clock = Deadline::Clock;

  explicit Patience(const WaitPolicy& policy) : policy_(policy) {}

  /// What to do now that nothing has moved.
  Advice advise(Clock::time_point now) noexcept {
    if (!is_waiting_) {
      is_waiting_ = true;
      since_ = now;
    }
    const Clock::duration waited = now - since_;
    if (waited < policy_.spin) return Advice::look_again;
    return waited < policy_.spin + policy_.yield ? Advice::yield : Advice::sleep;
  }
  void renew() noexcept { is_waiting_ = false; }

 private:
  WaitPolicy policy_;
  bool is_waiting_ = false;
  Clock::time_point since_;
};

}  // namespace muster::collectives::tcp
