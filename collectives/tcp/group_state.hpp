#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "collectives/communicator.hpp"
#include "collectives/group_names.hpp"
#include "collectives/tcp/inbox.hpp"
#include "collectives/trace/recorder.hpp"

namespace muster::collectives::tcp {

/// A rank as errors name it.
struct PeerName {
  pid_t pid = 0;
  std::string host;
  std::string address;
};

/// left: said goodbye. lost: its control connection ended without one.
enum class Presence : std::uint8_t { here, left, lost };

/// What the lanes, the service's thread and whoever aborts know together about a group. Any thread
/// may call anything.
class GroupState {
 public:
  GroupState(std::string name, GroupNames shown, int rank, int size);

  /// In the store, in keys and in records.
  const std::string& name() const noexcept { return name_; }
  /// In errors.
  const GroupNames& shown() const noexcept { return shown_; }
  int rank() const noexcept { return rank_; }
  int size() const noexcept { return size_; }

  void set_name(int of_rank, PeerName name);
  /// What records know a rank by. For all ranks before any lane is opened, and never again: it is
  /// read without a lock.
  void set_process(int of_rank, pid_t pid, std::string host_id);
  trace::PeerName recorded_name(int of_rank) const noexcept;
  void set_address(int of_rank, std::string address);
  /// "rank 1 (pid 4711, host a, 10.0.0.2)"
  std::string describe(int of_rank) const;

  Inbox& inbox(int lane) { return inboxes_.at(static_cast<std::size_t>(lane)); }
  const Inbox& inbox(int lane) const { return inboxes_.at(static_cast<std::size_t>(lane)); }

  /// Each of these wakes every lane. The first abort stays, and a peer that has left stays so.
  /// Returns whether it was the first.
  bool note_abort(int by, std::string_view reason);
  void note_left(int peer);
  void note_lost(int peer, std::string_view how);
  void note_heartbeat() noexcept { heartbeats_.fetch_add(1, std::memory_order_relaxed); }

  /// Costs no more than a load: has anything but heartbeats been noted?
  bool is_troubled() const noexcept { return is_troubled_.load(std::memory_order_acquire); }
  bool is_aborted() const noexcept { return is_aborted_.load(std::memory_order_acquire); }
  struct Abort {
    int by;
    std::string reason;
  };
  /// Nothing while nobody has.
  std::optional<Abort> abort() const;
  /// "rank 1 (pid …) aborted the group: reason"; is_aborted().
  std::string abort_text() const;
  Presence presence(int peer) const noexcept {
    return presences_[static_cast<std::size_t>(peer)].load(std::memory_order_acquire);
  }
  /// The rank that was lost first, or -1.
  int first_lost() const noexcept { return first_lost_.load(std::memory_order_acquire); }
  /// "rank 1 (pid …) has ended: how"
  std::string lost_text(int peer) const;
  /// Grows with every sign of life that any peer sends.
  std::uint64_t heartbeats() const noexcept { return heartbeats_.load(std::memory_order_relaxed); }

 private:
  struct Process {
    pid_t pid = 0;
    std::string host_id;
  };

  void wake_all() noexcept;

  const std::string name_;
  const GroupNames shown_;
  const int rank_;
  const int size_;
  std::array<Inbox, Communicator::kMaxLanes> inboxes_;
  std::vector<Process> processes_;               // [size]
  std::deque<std::atomic<Presence>> presences_;  // [size]
  std::atomic<bool> is_troubled_{false};
  std::atomic<bool> is_aborted_{false};
  std::atomic<int> first_lost_{-1};
  std::atomic<std::uint64_t> heartbeats_{0};
  mutable std::mutex mutex_;           // guards what follows
  std::vector<PeerName> names_;        // [size]
  std::vector<std::string> how_lost_;  // [size]
  std::optional<Abort> abort_;
};

}  // namespace muster::collectives::tcp
