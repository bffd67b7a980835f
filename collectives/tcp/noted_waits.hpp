#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "collectives/tcp/group_state.hpp"
#include "collectives/trace/recorder.hpp"
#include "kernels/base/deadline.hpp"

namespace muster::collectives::tcp {

/// The waits of one lane as the flight recorder keeps them: for which peer this rank sleeps now,
/// once that has lasted some milliseconds, and for how long it has slept for each so far. A wait
/// ends when something moves. Nothing here allocates, locks or waits; without a recorder it does
/// nothing.
///
/// One thread at a time.
class NotedWaits {
 public:
  using Clock = Deadline::Clock;

  explicit NotedWaits(const GroupState& state)
      : state_(state), waited_(static_cast<std::size_t>(state.size())) {}

  bool is_under_way() const noexcept { return peer_ >= 0; }
  bool is_shown() const noexcept { return note_.has_value(); }

  /// This rank is about to sleep for `peer`. Of one wait only the first peer counts.
  void begin(int peer, Clock::time_point now) noexcept {
    if (is_under_way()) return;
    peer_ = peer;
    since_ = now;
  }
  /// Shows a wait that has lasted for kShownAfter, once.
  void show_if_long(const trace::RecordedCall& call, Clock::time_point now) noexcept;
  void end() noexcept {
    if (is_under_way()) count();
  }

  static constexpr std::chrono::milliseconds kShownAfter{2};

 private:
  void count() noexcept;

  const GroupState& state_;
  std::vector<std::atomic<std::uint64_t>*> waited_;  // [size] for each peer, in the record
  int peer_ = -1;                                    // -1: no wait is under way
  Clock::time_point since_;
  std::optional<trace::WaitNote> note_;
};

/// Ends the wait under way, however its scope is left.
class NotedWaitScope {
 public:
  explicit NotedWaitScope(NotedWaits& waits) noexcept : waits_(waits) {}
  NotedWaitScope(const NotedWaitScope&) = delete;
  NotedWaitScope& operator=(const NotedWaitScope&) = delete;
  ~NotedWaitScope() { waits_.end(); }

 private:
  NotedWaits& waits_;
};

}  // namespace muster::collectives::tcp
