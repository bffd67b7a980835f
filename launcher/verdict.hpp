#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/control/message.hpp"

namespace muster::launcher {

/// How one rank ended, or that it has not, as far as its launcher saw.
struct RankEnd {
  int rank = 0;
  int pid = 0;
  bool has_ended = false;
  bool is_signal = false;  // `number` is the signal that ended it, else its exit code
  int number = 0;
  std::int64_t ended_ns = 0;                       // when its end was seen, on the monotonic clock
  bool has_finished = false;                       // it said that its work was done
  std::optional<runtime::FailingMessage> failing;  // what it said would end it
  std::optional<std::int64_t> told_ns;             // when the launcher told it to end
  std::string last_operation;  // of one that a signal ended, from its record; empty: none
};

/// A stop that somebody asked for.
struct Interruption {
  int signal = 0;            // 0: none
  bool is_killed = false;    // and the ranks did not end by themselves in time
  bool is_resumable = true;  // a stopped job has saved a checkpoint
};

struct Verdict {
  int exit_code = 0;
  std::vector<std::string> lines;  // for people, first cause first; empty when all went well
};

/// Whether this rank is to be blamed for the end of the job, or ended because another one was.
enum class Blame { none, victim, own };
Blame blame_of(const RankEnd& end);

/// The rank to blame: own deaths before those of victims, then the earliest. A rank that stamped
/// its error is compared with one whose death was only seen with the delay of seeing allowed for.
/// nullopt when no rank has failed.
std::optional<std::size_t> find_culprit(std::span<const RankEnd> ends);

/// The result of a job whose ranks have all ended: the culprit's exit code, or 128 + its signal; 75
/// when all stopped on request; 128 + signal of an interruption that had to kill; 0.
Verdict judge(std::span<const RankEnd> ends, const Interruption& interruption);

/// "0, 2-4, 7"
std::string rank_list(std::span<const int> ranks);

}  // namespace muster::launcher
