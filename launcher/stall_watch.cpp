#include "launcher/stall_watch.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collectives/trace/describe.hpp"
#include "collectives/trace/recorder.hpp"
#include "collectives/trace/stack_signal.hpp"
#include "collectives/trace/symbols.hpp"
#include "kernels/base/error.hpp"
#include "launcher/process_state.hpp"
#include "launcher/verdict.hpp"

namespace muster::launcher {

namespace trace = collectives::trace;

namespace {

constexpr std::chrono::milliseconds kLongestInterval{1000};
constexpr std::chrono::milliseconds kStackTime{200};  // what a rank gets to keep its stack

const trace::WaitView* longest(const std::vector<trace::WaitView>& waits) {
  const auto first = std::min_element(waits.begin(), waits.end(), [](const auto& a, const auto& b) {
    return a.since_ns < b.since_ns;
  });
  return first == waits.end() ? nullptr : &*first;
}

}  // namespace

/// A rank with what it does now.
struct StallWatch::Seen {
  RecordedRank rank;
  trace::NowView now;
};

struct StallWatch::Stall {
  std::string key;                 // the same at every look
  trace::WaitView wait;            // the last of the chain
  const Seen* culprit = nullptr;   // null: not on this host
  std::vector<const Seen*> cycle;  // ranks that wait for each other, where there is no culprit
};

StallWatch::StallWatch(double warning_s, Place place)
    : warning_ns_(static_cast<std::int64_t>(warning_s * 1e9)),
      place_(std::move(place)),
      interval_(
          std::min<Clock::duration>(std::chrono::nanoseconds(warning_ns_ / 4), kLongestInterval)),
      next_look_(Clock::now() + interval_) {}

std::vector<std::string> StallWatch::look(std::span<const RecordedRank> ranks) {
  next_look_ = Clock::now() + interval_;
  const std::vector<Seen> seen = see(ranks);
  const std::int64_t now_ns = trace::Clock::monotonic_ns();
  const std::optional<Stall> stall = find_stall(seen, now_ns);
  if (!stall) {
    told_.clear();
    asked_.reset();
    return {};
  }
  if (told_.contains(stall->key)) return {};
  if (stall->culprit != nullptr && (!asked_ || asked_->stall != stall->key)) {
    ask_for_stack(*stall);
    next_look_ = Clock::now() + kStackTime;
    return {};
  }
  told_.insert(stall->key);
  return tell(*stall, seen, now_ns);
}

std::vector<StallWatch::Seen> StallWatch::see(std::span<const RecordedRank> ranks) const {
  std::vector<Seen> seen;
  for (const RecordedRank& rank : ranks) {
    try {
      if (rank.record->is_open()) seen.push_back({rank, rank.record->now()});
    } catch (const Error&) {
      continue;  // a message boundary: a record that is not ours tells of no stall
    }
  }
  return seen;
}

const StallWatch::Seen* StallWatch::find_peer(std::span<const Seen> ranks,
                                              const trace::WaitView& wait) const {
  for (const Seen& each : ranks) {
    const trace::PeerName name{.pid = each.rank.pid, .host_id = place_.host_id};
    if (name.key() == wait.peer) return &each;
  }
  return nullptr;
}

std::optional<StallWatch::Stall> StallWatch::find_stall(std::span<const Seen> ranks,
                                                        std::int64_t now_ns) const {
  const Seen* waiter = nullptr;
  const trace::WaitView* wait = nullptr;
  for (const Seen& each : ranks) {
    const trace::WaitView* const its = longest(each.now.waits);
    if (its == nullptr || now_ns - its->since_ns < warning_ns_) continue;
    if (wait == nullptr || its->since_ns < wait->since_ns)
      std::tie(waiter, wait) = std::pair(&each, its);
  }
  if (waiter == nullptr) return std::nullopt;
  Stall stall;
  std::vector<const Seen*> chain = {waiter};
  while (true) {
    stall.wait = *wait;
    const Seen* const peer = find_peer(ranks, *wait);
    const auto before = std::find(chain.begin(), chain.end(), peer);
    if (peer != nullptr && before != chain.end()) {
      stall.cycle.assign(before, chain.end());
      break;
    }
    stall.culprit = peer;
    wait = peer == nullptr ? nullptr : longest(peer->now.waits);
    if (wait == nullptr) break;
    chain.push_back(peer);
    stall.culprit = nullptr;
  }
  stall.key = fmt::format("{} {}", stall.wait.peer, trace::describe(stall.wait.call));
  return stall;
}

void StallWatch::ask_for_stack(const Stall& stall) {
  const RecordedRank& rank = stall.culprit->rank;
  asked_ = {.stall = stall.key, .pid = rank.pid, .stamp_before = rank.record->stack().stamp};
  if (state_of(rank.pid).is_stopped()) {
    asked_->refusal =
        fmt::format("a stopped process gives no stack; kill -CONT {} lets it go on", rank.pid);
  } else if (!handles_signal(rank.pid, trace::kStackSignal)) {
    asked_->refusal = "it runs a program that keeps no stack";
  } else if (::syscall(SYS_tgkill, rank.pid, rank.pid, trace::kStackSignal) != 0) {
    asked_->refusal = "its main thread has ended";
  }
}

std::string StallWatch::who_waits(const Stall& stall, std::span<const Seen> ranks,
                                  std::int64_t now_ns) const {
  std::vector<int> waiters;
  std::int64_t since_ns = stall.wait.since_ns;
  for (const Seen& each : ranks) {
    for (const trace::WaitView& wait : each.now.waits) {
      const bool is_same = wait.call.is_same_call(stall.wait.call) || wait.peer == stall.wait.peer;
      if (!is_same || &each == stall.culprit) continue;
      if (waiters.empty() || waiters.back() != each.rank.rank) waiters.push_back(each.rank.rank);
      since_ns = std::min(since_ns, wait.since_ns);
    }
  }
  return fmt::format("{} {} {} {} for it", waiters.size() == 1 ? "rank" : "ranks",
                     rank_list(waiters), waiters.size() == 1 ? "waits" : "wait",
                     trace::duration_text(now_ns - since_ns));
}

std::string_view StallWatch::fault_of(const Seen& culprit, const trace::CallView& call) const {
  if (call.signature.kind() == collectives::CallKind::send_receive) {
    return "has not done its part of";
  }
  const std::vector<trace::EntryView> calls = culprit.rank.record->last_calls(trace::kEntries);
  const bool is_in = std::any_of(calls.begin(), calls.end(), [&](const trace::EntryView& entry) {
    return entry.call.is_same_call(call);
  });
  return is_in ? "does not go on in" : "has not entered";
}

std::vector<std::string> StallWatch::tell_cycle(const Stall& stall, std::int64_t now_ns) const {
  std::vector<std::string> lines = {
      "stall: ranks wait for each other; they must make the same calls in the same order:"};
  for (const Seen* each : stall.cycle) {
    const trace::WaitView& wait = *longest(each->now.waits);
    lines.push_back(fmt::format(
        "  rank {} (pid {}, host {}) waits {} for rank {} of its group in {}", each->rank.rank,
        each->rank.pid, place_.host, trace::duration_text(now_ns - wait.since_ns), wait.peer_rank,
        trace::describe(wait.call)));
  }
  return lines;
}

std::vector<std::string> StallWatch::tell(const Stall& stall, std::span<const Seen> ranks,
                                          std::int64_t now_ns) const {
  if (!stall.cycle.empty()) return tell_cycle(stall, now_ns);
  const std::string call = trace::describe(stall.wait.call);
  const std::string waiters = who_waits(stall, ranks, now_ns);
  if (stall.culprit == nullptr) {
    return {
        fmt::format("stall: rank {} of group {}, on another host, has not done its part of {}: {}",
                    stall.wait.peer_rank, stall.wait.call.group, call, waiters)};
  }
  const Seen& culprit = *stall.culprit;
  const std::optional<trace::EntryView> last = culprit.rank.record->last_call();
  std::vector<std::string> lines = {fmt::format(
      "stall: rank {} (pid {}, host {}) {} {}: {}; its last operation: {}; it is in: {}, since {}; "
      "state {}",
      culprit.rank.rank, culprit.rank.pid, place_.host, fault_of(culprit, stall.wait.call), call,
      waiters, last ? trace::describe(*last, now_ns) : "none", trace::describe_phase(culprit.now),
      trace::duration_text(now_ns - culprit.now.phase_since_ns),
      describe(state_of(culprit.rank.pid)))};
  for (std::string& line : stack_lines(culprit)) lines.push_back("  " + std::move(line));
  return lines;
}

std::vector<std::string> StallWatch::stack_lines(const Seen& culprit) const {
  if (!asked_->refusal.empty()) return {asked_->refusal};
  const trace::StackView stack = culprit.rank.record->stack();
  if (stack.stamp == asked_->stamp_before) return {"it has not answered with its stack"};
  std::vector<std::string> lines = trace::symbolise(culprit.rank.pid, stack.frames);
  for (std::string& line : lines) line.insert(0, "at ");
  return lines;
}

}  // namespace muster::launcher
