#include "collectives/shm/waiter.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

#include <fmt/format.h>
#include <sched.h>

#include "kernels/base/error.hpp"

namespace muster::collectives::shm {
namespace {

using Clock = Deadline::Clock;

// How often the world outside is looked at: a system call each time.
constexpr auto kCheckInterval = std::chrono::milliseconds(2);
// Sleeps are short against what has been waited already: each takes the core away from a rank that
// may be at work on it.
constexpr double kSleepShare = 1.0 / 16.0;
constexpr double kShortestSleep = 50e-6;
constexpr double kLongestSleep = 1e-3;

bool is_any_reached(std::span<const WaitGoal> goals) noexcept {
  for (const WaitGoal& goal : goals) {
    if (goal.is_reached()) return true;
  }
  return false;
}

double seconds(Clock::duration time) {
  return std::chrono::duration<double>(time).count();
}

}  // namespace

void Waiter::until_slowly(Goals goals) {
  const Clock::time_point start = Clock::now();
  if (!call_.deadline) call_.deadline = deadline_of(call_.options);
  Clock::time_point next_check = start + kCheckInterval;
  std::uint64_t heartbeats = heartbeats_of(goals);
  double waited_s = 0.0;
  trace::WaitNote note;
  while (!is_any_reached(goals)) {
    give_way(waited_s);
    const Clock::time_point now = Clock::now();
    waited_s = seconds(now - start);
    // What has happened already is not undone by an abort that came after it: look again.
    if (aborted_by() != 0 && !is_any_reached(goals)) throw_aborted();
    if (now >= call_.deadline->when() && !is_any_reached(goals)) throw_timeout(goals, waited_s);
    if (now < next_check) continue;
    if (!note.is_shown()) note.show(recorded_call(), name_of(goals.front().peer), waited_s);
    check_peers(goals);
    if (heartbeats_of(goals) != heartbeats) {
      heartbeats = heartbeats_of(goals);
      call_.deadline = deadline_of(call_.options);
    }
    next_check = now + kCheckInterval;
  }
  count_wait(goals.front().peer, waited_s);
}

trace::PeerName Waiter::name_of(int peer) const {
  const Peer& process = group_.peers[static_cast<std::size_t>(peer)];
  return {.rank = peer, .pid = process.pid, .host_id = process.host_id};
}

trace::RecordedCall Waiter::recorded_call() const {
  return {.signature = call_.signature,
          .group = trace::Text<3>(group_.name),
          .label = call_.options.label,
          .lane = lane_};
}

void Waiter::count_wait(int peer, double waited_s) {
  trace::Recorder* const recorder = trace::Recorder::current();
  if (recorder == nullptr) return;
  std::atomic<std::uint64_t>*& waited = waited_[static_cast<std::size_t>(peer)];
  if (waited == nullptr) waited = recorder->waited_for(name_of(peer));
  if (waited == nullptr) return;
  waited->fetch_add(static_cast<std::uint64_t>(waited_s * 1e9), std::memory_order_relaxed);
}

std::uint64_t Waiter::heartbeats_of(Goals goals) const noexcept {
  std::uint64_t sum = 0;
  for (const WaitGoal& goal : goals) {
    sum += group_.control(goal.peer).heartbeats.value.load(std::memory_order_relaxed);
  }
  return sum;
}

void Waiter::give_way(double waited_s) const {
  if (waited_s < group_.policy.yield_s) {
    ::sched_yield();
    return;
  }
  const double sleep_s = std::clamp(waited_s * kSleepShare, kShortestSleep, kLongestSleep);
  std::this_thread::sleep_for(std::chrono::duration<double>(sleep_s));
}

bool Waiter::has_left(int rank) const noexcept {
  return group_.control(rank).departed.value.load(std::memory_order_acquire) != 0;
}

void Waiter::check_ended(Goals goals) {
  const bool has_any_ended = ::poll(polls_.data(), polls_.size(), 0) > 0;
  for (int rank = 0; has_any_ended && rank < group_.size; ++rank) {
    const bool has_ended = polls_[static_cast<std::size_t>(rank)].revents != 0;
    if (has_ended && !has_left(rank) && !is_any_reached(goals)) throw_lost(rank, "has ended");
  }
}

void Waiter::throw_unreachable(int peer, std::string_view how) {
  check_ended({});
  throw_lost(peer, has_left(peer) ? "has left the group" : how);
}

// A peer that has left or ended may have done its part before: look again before blaming it. Those
// that ended without leaving are the cause where others then leave, so they are looked for first.
void Waiter::check_peers(Goals goals) {
  check_ended(goals);
  for (const WaitGoal& goal : goals) {
    if (!goal.is_needed || !has_left(goal.peer) || is_any_reached(goals)) continue;
    throw_lost(goal.peer, "has left the group");
  }
}

std::string Waiter::describe_call() const {
  const Signature& signature = call_.compared();
  const std::string_view name = call_.options.label;
  const std::string label = name.empty() ? std::string() : fmt::format(" \"{}\"", name);
  const bool has_sequence = signature.kind() != CallKind::send_receive;
  const std::string sequence =
      has_sequence ? fmt::format(", seq {}", signature.sequence()) : std::string();
  return fmt::format("{}{} (group {}, lane {}{})", to_string(signature), label, group_.shown.group,
                     lane_, sequence);
}

void Waiter::throw_aborted() const {
  const int by = static_cast<int>(aborted_by()) - 1;
  const AbortReason& reason = group_.control(by).reason;
  const std::string text(reason.text.data(), ::strnlen(reason.text.data(), reason.text.size()));
  if (reason.code == ErrorCode::invalid_argument) throw Error(reason.code, text);
  throw Error(ErrorCode::peer_lost, fmt::format("{} aborted the group: {}; this rank was in {}",
                                                group_.describe(by), text, describe_call()));
}

void Waiter::throw_lost(int peer, std::string_view how) const {
  if (aborted_by() != 0) throw_aborted();
  throw Error(ErrorCode::peer_lost,
              fmt::format("{} {} during {}", group_.describe(peer), how, describe_call()));
}

void Waiter::throw_timeout(Goals goals, double waited_s) const {
  throw Error(
      ErrorCode::timeout,
      fmt::format("{} waited {:.1f} s (limit {} s) for {}; see what they are busy with, or raise "
                  "the limit",
                  describe_call(), waited_s, call_.options.timeout_s, describe_missing(goals)));
}

std::string Waiter::describe_missing(Goals goals) const {
  std::string text;
  for (const WaitGoal& goal : goals) {
    if (!goal.is_needed) continue;
    const std::string peer = group_.describe(goal.peer);
    if (goal.what.empty()) return fmt::format("{}; not there yet: {}", peer, ranks_not_here());
    text += fmt::format("{}{} {}", text.empty() ? "" : " and ", peer, goal.what);
  }
  return text;
}

std::string Waiter::ranks_not_here() const {
  std::string ranks;
  for (int rank = 0; rank < group_.size; ++rank) {
    const auto& lane = group_.control(rank).lanes[static_cast<std::size_t>(lane_)];
    const auto& line = lane.arrive[call_.round % kRounds];
    if (line.round.load(std::memory_order_acquire) >= call_.round) continue;
    ranks += fmt::format("{}{}", ranks.empty() ? "rank " : ", ", group_.shown.rank(rank));
  }
  return ranks.empty() ? "nobody, all have come to this call" : ranks;
}

}  // namespace muster::collectives::shm
