#include "launcher/supervisor.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <fmt/format.h>

#include "collectives/net/fd.hpp"
#include "kernels/base/error.hpp"
#include "kernels/base/seconds.hpp"
#include "runtime/world/host.hpp"

namespace muster::launcher {
namespace {

constexpr std::chrono::milliseconds kSettling{500};
constexpr std::chrono::milliseconds kTermination{1000};

}  // namespace

Supervisor::Supervisor(std::vector<RankProcess> ranks, const Options& options, Console& console,
                       OutputQueue& output, StopSignals& signals)
    : grace_s_(options.grace_s),
      door_(options.job_id),
      stalls_(options.stall_warning_s, {runtime::host_name(), runtime::host_id()}),
      console_(console),
      output_(output),
      signals_(signals) {
  for (RankProcess& rank : ranks) ranks_.emplace_back(std::move(rank), console);
}

void Supervisor::run() {
  while (is_any_running()) {
    choose_watches();
    const int ready = ::poll(polls_.data(), polls_.size(), milliseconds_to_wait());
    if (ready < 0 && errno != EINTR) {
      throw Error(ErrorCode::io, fmt::format("poll: {}", collectives::errno_text(errno)));
    }
    if (ready > 0) serve();
    advance();
  }
}

void Supervisor::take_last_output() {
  for (WatchedRank& rank : ranks_) rank.take_last_output();
}

Verdict Supervisor::verdict() const {
  return judge(ends(), interruption_);
}

bool Supervisor::is_any_running() const {
  return std::any_of(ranks_.begin(), ranks_.end(),
                     [](const WatchedRank& rank) { return rank.is_running(); });
}

bool Supervisor::is_any_failing() const {
  return std::any_of(ranks_.begin(), ranks_.end(),
                     [](const WatchedRank& rank) { return blame_of(rank.end()) != Blame::none; });
}

std::vector<RankEnd> Supervisor::ends() const {
  std::vector<RankEnd> result;
  for (const WatchedRank& rank : ranks_) result.push_back(rank.end());
  return result;
}

void Supervisor::choose_watches() {
  polls_.clear();
  watches_.clear();
  watch(signals_.number(), Source::signals, 0);
  watch(door_.number(), Source::door, 0);
  const bool is_full = output_.is_full();  // then ranks wait, rather than our memory grow
  if (is_full) watch(output_.room_signal(), Source::room, 0);
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    const RankProcess& process = ranks_[i].process();
    watch(process.pidfd.number(), Source::end, i);
    if (is_full) continue;
    watch(process.control.number(), Source::control, i);
    watch(process.out.number(), Source::out, i);
    watch(process.err.number(), Source::err, i);
  }
}

void Supervisor::watch(int number, Source source, std::size_t rank) {
  if (number < 0) return;  // closed
  polls_.push_back({number, POLLIN, 0});
  watches_.push_back({source, rank});
}

int Supervisor::milliseconds_to_wait() const {
  std::optional<Clock::time_point> next = phase_end_;
  if (stop_end_ && (!next || *stop_end_ < *next)) next = stop_end_;
  if (phase_ == Phase::running && (!next || stalls_.next_look() < *next)) {
    next = stalls_.next_look();
  }
  if (!next) return -1;
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(*next - Clock::now());
  return static_cast<int>(std::clamp<std::int64_t>(left.count() + 1, 0, 60'000));
}

void Supervisor::serve() {
  for (std::size_t i = 0; i < polls_.size(); ++i) {
    if (polls_[i].revents == 0) continue;
    const auto [source, rank] = watches_[i];
    switch (source) {
      case Source::signals: take_signal(); break;
      case Source::room: output_.clear_room_signal(); break;
      case Source::door: answer_door(); break;
      case Source::control: ranks_[rank].take_messages(); break;
      case Source::out: ranks_[rank].take_output(Stream::out); break;
      case Source::err: ranks_[rank].take_output(Stream::err); break;
      case Source::end: ranks_[rank].take_end(); break;
    }
  }
}

void Supervisor::take_signal() {
  const std::optional<int> signal = signals_.take();
  if (!signal) return;
  if (interruption_.signal != 0 || phase_ != Phase::running) {
    console_.notice("ending the ranks at once");
    interruption_.signal = *signal;
    interruption_.is_killed = true;
    kill_all();
    return;
  }
  interruption_.signal = *signal;
  stop_end_ = Clock::now() + duration_of(grace_s_);
  console_.notice(
      fmt::format("{}: ranks stop after this step{}, {:g} s at most{}; once more ends them at once",
                  signal_name(*signal), interruption_.is_resumable ? " and save a checkpoint" : "",
                  grace_s_, interruption_.is_resumable ? " (--grace)" : ""));
  for (WatchedRank& rank : ranks_) rank.ask_to_stop();
}

void Supervisor::answer_door() {
  std::vector<JobDoor::Rank> answer;
  for (const WatchedRank& rank : ranks_) {
    const RankProcess& process = rank.process();
    answer.push_back(
        {{process.rank, process.pid, rank.is_running() ? 0 : 1}, process.trace.number()});
  }
  door_.answer(answer);
}

void Supervisor::look_for_stalls() {
  std::vector<RecordedRank> running;
  for (const WatchedRank& rank : ranks_) {
    if (rank.is_running()) {
      running.push_back({rank.process().rank, rank.process().pid, &rank.record()});
    }
  }
  for (const std::string& line : stalls_.look(running)) console_.notice(line);
}

void Supervisor::advance() {
  const Clock::time_point now = Clock::now();
  if (phase_ == Phase::running && now >= stalls_.next_look()) look_for_stalls();
  if (phase_ == Phase::running && is_any_failing()) {
    phase_ = Phase::settling;
    phase_end_ = now + kSettling;
    stop_end_.reset();
  }
  if (phase_ == Phase::settling && (is_culprit_known() || now >= *phase_end_)) end_the_rest();
  if (phase_ == Phase::ending && now >= *phase_end_) kill_all();
  if (phase_ == Phase::running && stop_end_ && now >= *stop_end_) {
    console_.notice(fmt::format("ranks still run after {:g} s: ending them{}", grace_s_,
                                interruption_.is_resumable ? " (--grace gives them longer)" : ""));
    interruption_.is_killed = true;
    kill_all();
  }
}

bool Supervisor::is_culprit_known() const {
  const std::vector<RankEnd> all = ends();
  const auto culprit = find_culprit(all);
  return culprit && blame_of(all[*culprit]) == Blame::own && !ranks_[*culprit].is_running();
}

void Supervisor::end_the_rest() {
  phase_ = Phase::ending;
  phase_end_ = Clock::now() + kTermination;
  const std::vector<RankEnd> all = ends();
  const auto culprit = find_culprit(all);
  const std::string reason =
      culprit ? fmt::format("rank {} failed", all[*culprit].rank) : "a rank failed";
  for (WatchedRank& rank : ranks_) {
    if (rank.is_running()) rank.tell_to_end(reason);
  }
}

void Supervisor::kill_all() {
  phase_ = Phase::killed;
  phase_end_.reset();
  stop_end_.reset();
  for (WatchedRank& rank : ranks_) {
    if (rank.is_running()) rank.kill();
  }
}

}  // namespace muster::launcher
