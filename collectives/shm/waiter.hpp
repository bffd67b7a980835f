#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <poll.h>

#include "collectives/shm/group.hpp"
#include "collectives/signature.hpp"
#include "collectives/trace/recorder.hpp"
#include "kernels/base/deadline.hpp"

namespace muster::collectives::shm {

/// The call that a lane is busy with, as its waits need to know it.
struct CurrentCall {
  Signature signature;
  CallOptions options;
  std::optional<Deadline> deadline = {};  // unset until somebody needs it: reading the clock costs
  std::uint64_t round = 0;                // of the lane; see ArriveLine

  /// What ranks compare, and errors name.
  const Signature& compared() const noexcept { return collectives::compared(signature, options); }
};

/// What a wait is for: `counter`, which rank `peer` counts up, to be `value` or more.
struct WaitGoal {
  const std::atomic<std::uint64_t>& counter;
  std::uint64_t value;
  int peer;
  /// What the peer should do, for errors: "to send". Empty: to come to this round.
  std::string_view what = {};
  /// False where the wait goes on without it, so that nobody minds if the peer leaves.
  bool is_needed = true;

  bool is_reached() const noexcept { return counter.load(std::memory_order_acquire) >= value; }
};

/// Waits of one lane. Each ends in one of four ways: the number is reached, or an Error: the group
/// was aborted (peer_lost with the reason), a peer has ended or left (peer_lost), or the call's
/// deadline has passed (timeout). The last three are noticed within some milliseconds.
///
/// One thread at a time.
class Waiter {
 public:
  Waiter(const Group& group, int lane)
      : group_(group),
        lane_(lane),
        polls_(group.watch.poll_set()),
        waited_(static_cast<std::size_t>(group.size)) {}

  /// From now on waits belong to `call`. Throws at once if the group was aborted.
  void begin(const CurrentCall& call) {
    call_ = call;
    if (aborted_by() != 0) throw_aborted();
  }

  /// Returns once `counter`, which rank `peer` counts up, is `value` or more.
  void until(const std::atomic<std::uint64_t>& counter, std::uint64_t value, int peer) {
    for (int i = group_.policy.polls; i > 0; --i) {
      if (counter.load(std::memory_order_acquire) >= value) return;
      __builtin_ia32_pause();
    }
    const WaitGoal goal{counter, value, peer};
    until_slowly({&goal, 1});
  }
  /// Returns once any of `goals` is reached. At least one is needed.
  void until_any(std::span<const WaitGoal> goals) {
    for (int i = group_.policy.polls; i > 0; --i) {
      for (const WaitGoal& goal : goals) {
        if (goal.is_reached()) return;
      }
      __builtin_ia32_pause();
    }
    until_slowly(goals);
  }

  const CurrentCall& call() const noexcept { return call_; }

  /// Error(peer_lost) of a peer without which the call cannot go on; where the group was aborted
  /// before, with the reason for that.
  [[noreturn]] void throw_lost(int peer, std::string_view how) const;
  /// The same of a peer whose memory is gone. It may have left because another rank had ended: then
  /// that one is named.
  [[noreturn]] void throw_unreachable(int peer, std::string_view how);

  /// "all_reduce f32[64] "label" (group world, lane 0, seq 12)"; a send_receive has no seq.
  std::string describe_call() const;

 private:
  using Goals = std::span<const WaitGoal>;

  std::uint64_t aborted_by() const noexcept {
    return group_.control(group_.rank).aborted.value.load(std::memory_order_acquire);
  }
  std::uint64_t heartbeats_of(Goals goals) const noexcept;
  void until_slowly(Goals goals);
  void give_way(double waited_s) const;
  trace::PeerName name_of(int peer) const;
  trace::RecordedCall recorded_call() const;
  void count_wait(int peer, double waited_s);
  void check_peers(Goals goals);
  void check_ended(Goals goals);
  bool has_left(int rank) const noexcept;
  std::string describe_missing(Goals goals) const;
  std::string ranks_not_here() const;
  [[noreturn]] void throw_aborted() const;
  [[noreturn]] void throw_timeout(Goals goals, double waited_s) const;

  const Group& group_;
  int lane_;
  std::vector<pollfd> polls_;
  std::vector<std::atomic<std::uint64_t>*> waited_;  // [size] for each peer, in the record
  CurrentCall call_;
};

}  // namespace muster::collectives::shm
