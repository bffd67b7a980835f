#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "collectives/trace/reader.hpp"

namespace muster::launcher {

/// A running rank of this host, as a stall is explained from it.
struct RecordedRank {
  int rank = 0;
  pid_t pid = 0;
  const collectives::trace::RecordReader* record = nullptr;
};

/// Notices that ranks wait in a collective for longer than a limit, and says who waits for whom:
/// it follows the waits to the rank that waits for nobody, and tells what that one is at, its last
/// operation, its state and its stack. A hint: nobody is ended. Each stall is told once.
///
/// Reads records and /proc alone, so that it works whatever the ranks do. One thread.
class StallWatch {
 public:
  using Clock = std::chrono::steady_clock;

  struct Place {
    std::string host;     // for people
    std::string host_id;  // as in trace::PeerName
  };

  StallWatch(double warning_s, Place place);

  /// When to look the next time.
  Clock::time_point next_look() const noexcept { return next_look_; }
  /// Looks, and returns the lines about a stall, first "stall: …"; mostly none. A stack takes the
  /// rank a moment: the lines come with a later look.
  std::vector<std::string> look(std::span<const RecordedRank> ranks);

 private:
  struct Seen;
  struct Stall;
  struct AskedStack {
    std::string stall;  // whose
    pid_t pid = 0;
    std::uint64_t stamp_before = 0;
    std::string refusal;  // why none was asked for
  };

  std::vector<Seen> see(std::span<const RecordedRank> ranks) const;
  std::optional<Stall> find_stall(std::span<const Seen> ranks, std::int64_t now_ns) const;
  const Seen* find_peer(std::span<const Seen> ranks,
                        const collectives::trace::WaitView& wait) const;
  void ask_for_stack(const Stall& stall);
  std::vector<std::string> tell(const Stall& stall, std::span<const Seen> ranks,
                                std::int64_t now_ns) const;
  std::vector<std::string> tell_cycle(const Stall& stall, std::int64_t now_ns) const;
  std::string_view fault_of(const Seen& culprit, const collectives::trace::CallView& call) const;
  std::string who_waits(const Stall& stall, std::span<const Seen> ranks, std::int64_t now_ns) const;
  std::vector<std::string> stack_lines(const Seen& culprit) const;

  std::int64_t warning_ns_;
  Place place_;
  Clock::duration interval_;
  Clock::time_point next_look_;
  std::set<std::string> told_;
  std::optional<AskedStack> asked_;
};

}  // namespace muster::launcher
