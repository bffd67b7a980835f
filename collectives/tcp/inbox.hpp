#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "collectives/net/fd.hpp"
#include "collectives/tcp/seal.hpp"
#include "kernels/base/error.hpp"

namespace muster::collectives::tcp {

/// A data connection that is ready for use.
struct Arrival {
  int peer = 0;
  int count = 1;  // how many the peer and this rank will have on the lane
  Fd socket;
  std::optional<ConnectionKeys> keys = {};  // it is encrypted
};

/// Why a lane cannot go on, from a certain call on: those before it are not concerned, and may be
/// under way still.
struct LaneFailure {
  std::uint32_t sequence = 0;  // 0: at once
  Error error;
};

/// What the service has for one lane: new connections, and errors. The service's thread puts in,
/// the lane's takes out; the lane may sleep on wake_fd(), which is readable after a wake().
class Inbox {
 public:
  /// Error(io) when the system has no descriptors left.
  Inbox();

  void put(Arrival arrival);
  /// The lane throws this from its next wait that cannot end without. The first one stays.
  void fail(LaneFailure failure);
  void wake() noexcept;

  /// Costs no more than a load: is there anything to take?
  bool has_news() const noexcept { return has_news_.load(std::memory_order_acquire); }
  std::vector<Arrival> take_arrivals();
  std::optional<LaneFailure> failure() const;

  int wake_fd() const noexcept { return event_.number(); }
  /// Makes wake_fd() unreadable again.
  void drain() noexcept;

 private:
  Fd event_;
  std::atomic<bool> has_news_{false};
  mutable std::mutex mutex_;  // guards what follows
  std::vector<Arrival> arrivals_;
  std::optional<LaneFailure> failure_;
};

}  // namespace muster::collectives::tcp
