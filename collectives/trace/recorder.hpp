#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "collectives/net/fd.hpp"
#include "collectives/signature.hpp"
#include "collectives/trace/clock.hpp"
#include "collectives/trace/memory.hpp"

namespace muster::collectives::trace {

/// A peer as the record keeps it: `rank` is its number in the group of the wait. Host id and pid
/// name a process for all groups; where the pid is not known (0) the rank stands in for it.
struct PeerName {
  int rank = 0;
  int pid = 0;
  std::string_view host_id = {};

  /// A hash of the host id (32 bits) | pid (32), lowest last; never 0.
  std::uint64_t key() const noexcept;
};

/// A call as it is recorded.
struct RecordedCall {
  Signature signature;
  Text<3> group;
  std::string_view label = {};
  int lane = 0;
  int to = Call::kNobody;
  int from = Call::kNobody;
};

/// This process's flight recorder: writes what the process does where others can read it at any
/// moment, also after its end (see RecordReader). It costs a reading of the cycle counter and some
/// stores; nothing here waits, allocates, or fails.
///
/// There is one, opened at start by open(); without it current() is null and nothing is recorded.
/// Calls and waits: any thread. Phase and step: the thread that runs the job alone.
class Recorder {
 public:
  struct Owner {
    int rank = 0;
    int size = 1;
  };

  /// Opens this process's recorder on a fresh record. For the rest of the process: a later call
  /// changes nothing. Error(io) as MappedRecord.
  static void open(const Fd& memory);
  static Recorder* current() noexcept { return installed.load(std::memory_order_acquire); }

  /// A recorder of its own, for tests; open() makes the process's.
  explicit Recorder(const Fd& memory);
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  /// Which rank this is, once it is known.
  void set_owner(const Owner& owner) noexcept;

  /// A call begins. The ticket ends it.
  std::uint64_t begin(const RecordedCall& call) noexcept;
  /// It has ended; later ends of the same ticket change nothing. 0 is no call.
  void end(std::uint64_t ticket, Outcome outcome) noexcept;
  /// The same for a call that was done so fast that its begin tells the time, too: reading the
  /// clock would cost it more than anything else here.
  void end_at_once(std::uint64_t ticket) noexcept;
  /// Waits that lasted so long that a WaitNote was shown.
  std::uint64_t long_waits() const noexcept { return long_waits_.load(std::memory_order_relaxed); }

  void set_phase(const Text<4>& name) noexcept;
  void set_step(std::int64_t step) noexcept;
  const Text<4>& phase() const noexcept { return phase_.name; }

  /// The sum of this rank's waits for a peer, in nanoseconds, to be added to; null when more peers
  /// than kMostPeers are counted.
  std::atomic<std::uint64_t>* waited_for(const PeerName& peer) noexcept;
  /// Sets all sums to 0: what was waited for so far belongs to the start.
  void restart_waits() noexcept;
  /// How long ago they were set to 0.
  double seconds_of_waits() const noexcept;

  /// Keeps where the calling thread is. Safe in a signal handler.
  void keep_stack(std::span<void* const> frames) noexcept;

 private:
  friend class WaitNote;

  NowPage& now() const noexcept { return record_.layout().now; }
  void keep_phase() noexcept;
  void finish(std::uint64_t ticket, Outcome outcome, std::uint64_t ticks) noexcept;

  static std::atomic<Recorder*> installed;

  Clock clock_;
  MappedRecord record_;
  PhaseFields phase_;
  std::atomic<std::uint64_t> long_waits_{0};
};

/// Runs what ends a recorded call, and records how it did.
template <typename Body>
void record_until_end(std::uint64_t ticket, Body&& body) {
  Recorder* const recorder = Recorder::current();
  if (recorder == nullptr || ticket == 0) return std::forward<Body>(body)();
  try {
    std::forward<Body>(body)();
  } catch (...) {
    recorder->end(ticket, Outcome::failed);
    throw;
  }
  recorder->end(ticket, Outcome::done);
}

/// While it lives, others can see that this rank waits. Made by waits that have lasted some
/// milliseconds already, so that short ones cost nothing. One thread.
class WaitNote {
 public:
  WaitNote() = default;
  WaitNote(const WaitNote&) = delete;
  WaitNote& operator=(const WaitNote&) = delete;
  ~WaitNote();

  bool is_shown() const noexcept { return slot_ != nullptr; }
  /// `waited_s`: how long the wait has lasted. Nothing is shown when no recorder is open or
  /// kWaitSlots other waits are.
  void show(const RecordedCall& call, const PeerName& peer, double waited_s) noexcept;
  /// The same in a certain record.
  void show(Recorder& recorder, const RecordedCall& call, const PeerName& peer,
            double waited_s) noexcept;

 private:
  WaitSlot* slot_ = nullptr;
};

/// Names what the rank is doing while it lives, then the phase before again. Does nothing when no
/// recorder is open. `name` is clipped to 32 bytes and outlives the scope.
class PhaseScope {
 public:
  explicit PhaseScope(std::string_view name) noexcept;
  PhaseScope(const PhaseScope&) = delete;
  PhaseScope& operator=(const PhaseScope&) = delete;
  ~PhaseScope();

 private:
  Text<4> before_;
};

}  // namespace muster::collectives::trace
