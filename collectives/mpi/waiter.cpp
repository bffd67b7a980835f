#include "collectives/mpi/waiter.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <thread>

#include <fmt/format.h>
#include <sched.h>

namespace muster::collectives::mpi {
namespace {

using Clock = Deadline::Clock;

constexpr auto kSpin = std::chrono::microseconds(50);
constexpr auto kYield = std::chrono::seconds(1);
constexpr auto kSleep = std::chrono::microseconds(50);
// Looking for notes costs about as much as looking after the call itself.
constexpr int kTestsPerLook = 16;
// How long ranks that wait too get to say so: each looks for notes all the time.
constexpr double kAnswerS = 0.3;
// A message of a rank that has left since may still be on its way.
constexpr double kGraceS = 0.2;

}  // namespace

void Waiter::begin(const Call& call, Deadline deadline) {
  signature_ = Signature(call);
  if (call.kind == CallKind::send_receive) {
    signature_.count = std::max(call.in.count(), call.out.count());
  }
  options_ = call.options;
  deadline_ = deadline;
  beats_ = context_.notes.beats();
  has_answered_ = false;
  grace_.reset();
  context_.notes.read();
  if (context_.notes.is_aborted()) throw_aborted();
}

void Waiter::end() {
  if (signature_.kind() != CallKind::send_receive) context_.notes.end_call(lane_, signature_);
}

void Waiter::until_done(std::span<Request> requests, std::span<const int> partners) {
  const Clock::time_point start = Clock::now();
  for (int tests = 1; !are_done(requests); ++tests) {
    if (tests % kTestsPerLook != 0) continue;
    look_around();
    const Clock::time_point now = Clock::now();
    // What has happened already is not undone by an abort that came after it: look again.
    if (context_.notes.is_aborted() && !are_done(requests)) throw_aborted();
    check_peers(requests, partners);
    if (now >= deadline_.when() && !are_done(requests)) throw_timeout(partners);
    const Clock::duration waited = now - start;
    if (waited > kYield) {
      std::this_thread::sleep_for(kSleep);
    } else if (!context_.may_spin || waited > kSpin) {
      ::sched_yield();
    }
  }
}

void Waiter::check(int error) const {
  if (error == kSuccess) return;
  std::array<char, 512> words{};
  context_.group.describe(error, words);
  throw Error(ErrorCode::io, fmt::format("MPI refused {}: {}", describe_call(), words.data()));
}

std::string Waiter::describe_call() const {
  const std::string label =
      options_.label.empty() ? std::string() : fmt::format(" \"{}\"", options_.label);
  const bool has_sequence = signature_.kind() != CallKind::send_receive;
  const std::string sequence =
      has_sequence ? fmt::format(", seq {}", signature_.sequence()) : std::string();
  return fmt::format("{}{} (group {}, lane {}{})", to_string(signature_), label, context_.name,
                     lane_, sequence);
}

bool Waiter::are_done(std::span<Request> requests) {
  bool are_all_done = true;
  for (Request& request : requests) {
    bool is_done = false;
    check(context_.group.test(request, is_done));
    are_all_done = are_all_done && is_done;
  }
  return are_all_done;
}

void Waiter::look_around() {
  context_.notes.read();
  if (!has_answered_ && context_.notes.is_asked(lane_)) answer();
  if (context_.notes.beats() == beats_) return;
  beats_ = context_.notes.beats();
  deadline_ = deadline_of(options_);
}

void Waiter::answer() {
  has_answered_ = true;
  context_.notes.tell_call(lane_, signature_);
}

void Waiter::check_peers(std::span<Request> requests, std::span<const int> partners) {
  for (int rank = 0; rank < context_.size; ++rank) {
    const bool is_awaited =
        partners.empty() || std::find(partners.begin(), partners.end(), rank) != partners.end();
    if (!is_awaited || !context_.notes.has_left(rank, lane_, signature_)) continue;
    if (!grace_) grace_ = Deadline::after_seconds(kGraceS);
    if (!grace_->has_passed() || are_done(requests)) return;
    throw Error(ErrorCode::peer_lost,
                fmt::format("rank {} has left the group during {}", rank, describe_call()));
  }
}

void Waiter::ask_everyone() {
  if (!has_answered_) answer();
  const Deadline deadline = Deadline::after_seconds(kAnswerS);
  while (!deadline.has_passed()) {
    context_.notes.read();
    const auto calls = context_.notes.calls(lane_);
    if (std::count(calls.begin(), calls.end(), std::nullopt) <= 1) return;  // one is this rank
    ::sched_yield();
  }
}

std::string Waiter::describe_missing(std::span<const int> partners) const {
  const auto calls = context_.notes.calls(lane_);
  std::string text;
  std::string elsewhere;
  for (int rank = 0; rank < context_.size; ++rank) {
    const bool is_awaited =
        partners.empty() || std::find(partners.begin(), partners.end(), rank) != partners.end();
    if (rank == context_.rank || !is_awaited) continue;
    const auto& call = calls[static_cast<std::size_t>(rank)];
    if (!call) {
      text += fmt::format("{}{}", text.empty() ? "rank " : ", ", rank);
    } else if (*call != signature_) {
      elsewhere +=
          fmt::format("; rank {} is in {} seq {}", rank, to_string(*call), call->sequence());
    }
  }
  if (text.empty() && elsewhere.empty()) return "nobody, all have come to this call";
  return (text.empty() ? "nobody" : text) + elsewhere;
}

void Waiter::throw_aborted() const {
  throw Error(ErrorCode::peer_lost,
              fmt::format("{}; this rank was in {}", context_.notes.abort_text(), describe_call()));
}

void Waiter::throw_timeout(std::span<const int> partners) {
  ask_everyone();
  throw Error(ErrorCode::timeout,
              fmt::format("{} waited too long (limit {} s); not there yet: {}; see what they are "
                          "busy with, or raise the limit",
                          describe_call(), options_.timeout_s, describe_missing(partners)));
}

}  // namespace muster::collectives::mpi
