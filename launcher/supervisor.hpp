#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include <poll.h>

#include "launcher/console.hpp"
#include "launcher/job_door.hpp"
#include "launcher/output_queue.hpp"
#include "launcher/signals.hpp"
#include "launcher/stall_watch.hpp"
#include "launcher/verdict.hpp"
#include "launcher/watched_rank.hpp"

namespace muster::launcher {

/// Watches the ranks of a host until all have ended, from one thread in one poll loop.
///
///     running   until a rank fails
///     settling  up to 0.5 s, when only victims are known yet: their cause may still come
///     ending    the others are told to end; whoever has not after 1 s is killed
///
/// A stop signal asks the ranks to stop, save and leave; a second one, or the end of the grace
/// time, kills them.
class Supervisor {
 public:
  struct Options {
    double grace_s = 5.0;           // from a stop request to the end of ranks that have not ended
    double stall_warning_s = 30.0;  // a rank that waits so long in a collective is said
    std::string job_id;             // under which `muster status` finds the job
  };

  Supervisor(std::vector<RankProcess> ranks, const Options& options, Console& console,
             OutputQueue& output, StopSignals& signals);

  /// Says that a stopped job has nothing to resume from.
  void leave_no_checkpoint() noexcept { interruption_.is_resumable = false; }

  /// Returns when no rank runs any more. What they wrote last is taken with take_last_output().
  void run();
  /// When nobody is left who could write: takes the rest of the ranks' output.
  void take_last_output();
  Verdict verdict() const;

 private:
  using Clock = std::chrono::steady_clock;
  enum class Phase { running, settling, ending, killed };
  enum class Source { signals, room, door, control, out, err, end };
  struct Watch {
    Source source;
    std::size_t rank;
  };

  bool is_any_running() const;
  bool is_any_failing() const;
  std::vector<RankEnd> ends() const;
  void choose_watches();
  void watch(int number, Source source, std::size_t rank);
  int milliseconds_to_wait() const;
  void serve();
  void take_signal();
  void answer_door();
  void look_for_stalls();
  void advance();
  bool is_culprit_known() const;
  void end_the_rest();
  void kill_all();

  std::vector<WatchedRank> ranks_;
  double grace_s_;
  JobDoor door_;
  StallWatch stalls_;
  Console& console_;
  OutputQueue& output_;
  StopSignals& signals_;
  std::vector<pollfd> polls_;  // [i] belongs to watches_[i]
  std::vector<Watch> watches_;
  Phase phase_ = Phase::running;
  std::optional<Clock::time_point> phase_end_;
  std::optional<Clock::time_point> stop_end_;
  Interruption interruption_;
};

}  // namespace muster::launcher
