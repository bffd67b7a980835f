#include "launcher/verdict.hpp"

#include <algorithm>
#include <tuple>

#include <fmt/format.h>

#include "launcher/signals.hpp"
#include "runtime/control/exit_codes.hpp"

namespace muster::launcher {
namespace {

using runtime::kExitFailed;
using runtime::kExitPeerLost;
using runtime::kExitStopped;
using runtime::kExitUsage;

/// A death is seen this much later than it happened, at most; an error is stamped at once.
constexpr std::int64_t kSeenLateNs = 50'000'000;

/// What a rank reported before it was told to end: later reports are consequences.
const runtime::FailingMessage* own_report(const RankEnd& end) {
  if (!end.failing) return nullptr;
  const bool is_consequence = end.told_ns && end.failing->at_ns >= *end.told_ns;
  return is_consequence ? nullptr : &*end.failing;
}

std::int64_t time_of_failure(const RankEnd& end) {
  const runtime::FailingMessage* const report = own_report(end);
  return report != nullptr ? report->at_ns : end.ended_ns - kSeenLateNs;
}

int code_of(const RankEnd& end) {
  const bool is_own_code = !end.is_signal && end.number != 0 && end.number != kExitPeerLost;
  if (end.told_ns && !is_own_code) {  // how it ended then is our doing, what it reported is not
    const runtime::FailingMessage* const report = own_report(end);
    return report != nullptr ? runtime::exit_code_of(report->code) : kExitFailed;
  }
  if (end.is_signal) return 128 + end.number;
  return end.number == 0 ? kExitFailed : end.number;
}

std::string how_it_ended(const RankEnd& end) {
  const runtime::FailingMessage* const report = own_report(end);
  const std::string because = report != nullptr ? ": " + report->cause : "";
  if (end.told_ns) return "failed" + because;
  if (end.is_signal) {
    const std::string last =
        end.last_operation.empty() ? "" : "; its last operation: " + end.last_operation;
    return fmt::format("was killed by {}{}{}", signal_name(end.number), because, last);
  }
  if (end.number == 0 && report == nullptr) return "exited with code 0 before its work was done";
  return fmt::format("exited with code {}{}", end.number, because);
}

std::string sentence(const RankEnd& end) {
  return fmt::format("rank {} (pid {}) {}", end.rank, end.pid, how_it_ended(end));
}

bool is_same_report(const RankEnd& a, const RankEnd& b) {
  return a.failing && b.failing && a.failing->cause == b.failing->cause;
}

Verdict judge_failure(std::span<const RankEnd> ends, std::size_t culprit_index) {
  const RankEnd& culprit = ends[culprit_index];
  const int code = code_of(culprit);
  const runtime::FailingMessage* const report = own_report(culprit);
  if (code == kExitUsage && report != nullptr) return {code, {report->cause}};

  Verdict verdict{code == kExitPeerLost ? kExitFailed : code, {sentence(culprit)}};
  std::vector<int> victims;
  for (const RankEnd& end : ends) {
    if (end.rank == culprit.rank) continue;
    const bool is_own = blame_of(end) == Blame::own;
    if (is_own && !is_same_report(end, culprit)) {
      verdict.lines.push_back("after that, " + sentence(end));
    } else if (is_own || blame_of(end) == Blame::victim || end.told_ns) {
      victims.push_back(end.rank);
    }
  }
  if (!victims.empty()) {
    verdict.lines.push_back(fmt::format("{} {} ended because rank {} failed",
                                        victims.size() == 1 ? "rank" : "ranks", rank_list(victims),
                                        culprit.rank));
  }
  return verdict;
}

}  // namespace

Blame blame_of(const RankEnd& end) {
  if (const runtime::FailingMessage* const report = own_report(end); report != nullptr) {
    if (report->code == ErrorCode::stopped) return Blame::none;
    return report->code == ErrorCode::peer_lost ? Blame::victim : Blame::own;
  }
  if (end.told_ns || !end.has_ended) return Blame::none;
  if (end.is_signal) return Blame::own;
  if (end.number == 0) return end.has_finished ? Blame::none : Blame::own;
  if (end.number == kExitStopped) return Blame::none;
  return end.number == kExitPeerLost ? Blame::victim : Blame::own;
}

std::optional<std::size_t> find_culprit(std::span<const RankEnd> ends) {
  const auto order = [&](std::size_t i) {
    return std::tuple(blame_of(ends[i]) == Blame::own ? 0 : 1, time_of_failure(ends[i]));
  };
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    if (blame_of(ends[i]) == Blame::none) continue;
    if (!best || order(i) < order(*best)) best = i;
  }
  return best;
}

Verdict judge(std::span<const RankEnd> ends, const Interruption& interruption) {
  if (const auto culprit = find_culprit(ends)) return judge_failure(ends, *culprit);
  if (interruption.is_killed) {
    return {128 + interruption.signal,
            {interruption.is_resumable ? "the ranks were ended before they had saved a checkpoint; "
                                         "the last complete one is still good"
                                       : "the ranks were ended before they had stopped"}};
  }
  const auto stopped = std::count_if(ends.begin(), ends.end(),
                                     [](const RankEnd& end) { return end.number == kExitStopped; });
  if (stopped == 0) return {};
  if (stopped == std::ssize(ends)) {
    return {kExitStopped,
            {interruption.is_resumable ? "stopped on request; the same command resumes it"
                                       : "stopped on request"}};
  }
  std::vector<int> others;
  for (const RankEnd& end : ends) {
    if (end.number != kExitStopped) others.push_back(end.rank);
  }
  return {kExitFailed,
          {fmt::format("{} of {} ranks stopped on request, but not {}", stopped, ends.size(),
                       rank_list(others))}};
}

std::string rank_list(std::span<const int> ranks) {
  std::string text;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    if (!text.empty()) text += ", ";
    text += fmt::format("{}", ranks[i]);
    if (last > i) text += fmt::format("{}{}", last == i + 1 ? ", " : "-", ranks[last]);
    i = last + 1;
  }
  return text;
}

}  // namespace muster::launcher
