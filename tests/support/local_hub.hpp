#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "collectives/communicator.hpp"
#include "collectives/signature.hpp"
#include "collectives/transport/transport.hpp"
#include "kernels/base/deadline.hpp"
#include "kernels/base/error.hpp"

namespace muster::collectives {

/// How every message of a LocalNetwork travels.
struct LocalLink {
  double delay_s = 0.0;
  double bytes_per_s = 0.0;  // per sender and receiver; 0: no limit
  /// So many messages of up to kKeptBytes each are kept until they are received: sending them is
  /// done at once. With none, nothing is sent before it is wanted.
  std::size_t kept_messages = 0;

  static constexpr std::size_t kKeptBytes = 4096;
};

/// What a rank has sent so far, on all lanes.
struct Traffic {
  std::int64_t messages = 0;
  std::int64_t bytes = 0;

  bool operator==(const Traffic&) const = default;
};

/// One end of a message that waits for the other.
struct LocalPost {
  Transport::Ticket ticket;
  Signature signature;
  std::byte* data;  // of a send: read only
  std::size_t bytes;
  bool is_kept = false;  // a send whose data is the hub's
};

/// First in, first out. Short, and never allocates once it has grown.
class LocalQueue {
 public:
  LocalQueue() { posts_.reserve(32); }

  bool empty() const noexcept { return posts_.empty(); }
  const LocalPost& front() const { return posts_.front(); }
  void push_back(const LocalPost& post) { posts_.push_back(post); }
  void pop_front() { posts_.erase(posts_.begin()); }
  /// All but those that the hub keeps.
  void clear() {
    std::erase_if(posts_, [](const LocalPost& post) { return !post.is_kept; });
  }

 private:
  std::vector<LocalPost> posts_;
};

/// The messages from one rank to another on one lane.
struct LocalDirection {
  LocalQueue sends;
  LocalQueue receives;
  Deadline::Clock::time_point free_at;  // when the link has carried what was sent so far
};

struct LocalRank {
  bool is_dead = false;
  bool has_left = false;
  std::int64_t messages_to_live = std::numeric_limits<std::int64_t>::max();
  Traffic sent;
  Deadline::Clock::time_point last_beat;
  std::vector<bool> loses_next;  // [to]
};

struct LocalAbort {
  int by;
  std::string reason;
};

/// One lane's end on one rank, as the other ranks know it. The hub's mutex is held in each.
class LocalWire {
 public:
  LocalWire() = default;
  LocalWire(const LocalWire&) = delete;
  LocalWire& operator=(const LocalWire&) = delete;
  virtual ~LocalWire() = default;

  /// The message has moved; it counts as done from `at` on.
  virtual void finish(Transport::Ticket ticket, Deadline::Clock::time_point at) = 0;
  virtual void wake() = 0;
  virtual const Signature& signature() const noexcept = 0;
  /// A message of `signature` can never be meant for the call this end is in.
  virtual bool is_in_another_call(const Signature& signature) const = 0;
};

/// All there is to know, under one lock: nothing here needs to be fast.
class LocalHub {
 public:
  LocalHub(std::string group_in, int size_in, LocalLink link_in);

  LocalDirection& direction(int lane, int from, int to) {
    return lanes_[static_cast<std::size_t>(lane)]
        .directions[static_cast<std::size_t>(from) * ranks.size() + static_cast<std::size_t>(to)];
  }
  LocalWire* wire(int lane, int rank) const {
    return lanes_[static_cast<std::size_t>(lane)].wires[static_cast<std::size_t>(rank)];
  }
  void set_wire(int lane, int rank, LocalWire* wire) {
    lanes_[static_cast<std::size_t>(lane)].wires[static_cast<std::size_t>(rank)] = wire;
  }
  std::optional<std::uint32_t>& begun(int lane, int rank) {
    return lanes_[static_cast<std::size_t>(lane)].begun[static_cast<std::size_t>(rank)];
  }
  void wake_all();
  /// Room to keep a message in; null if there is none.
  std::byte* take_room(std::size_t bytes);
  /// Moves the messages that both ends have posted.
  void match(int lane, int from, int to);

  const std::string group;
  const int size;
  const LocalLink link;
  std::mutex mutex;  // guards all below
  std::vector<LocalRank> ranks;
  std::optional<LocalAbort> aborted;
  std::optional<Error> mismatch;

 private:
  struct Lane {
    std::vector<LocalDirection> directions;           // [from][to]
    std::vector<LocalWire*> wires;                    // [rank]; null: not open
    std::vector<std::optional<std::uint32_t>> begun;  // [rank] the last call there
  };
  std::array<Lane, Communicator::kMaxLanes> lanes_;
  std::vector<std::byte> room_;  // for kept messages
  std::vector<std::byte*> free_room_;
};

}  // namespace muster::collectives
