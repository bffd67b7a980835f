#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/communicator.hpp"
#include "collectives/mpi/mpi_session.hpp"
#include "collectives/signature.hpp"
#include "kernels/base/deadline.hpp"

namespace muster::collectives::mpi {

/// What the ranks of a group tell each other beside their collectives, by short messages that are
/// looked for while waiting: that the group is aborted, that a message was refused, signs of life,
/// and, where a call takes too long, which call each rank is in.
///
/// Any thread may call.
class Notes {
 public:
  /// `group` outlives the notes.
  Notes(Group& group, int rank, int size);

  /// Tells everybody, once; the first reason counts.
  void abort(std::string_view reason) noexcept;
  /// Tells everybody, at most every 100 ms.
  void beat() noexcept;
  /// Tells everybody that this rank waits in this call.
  void tell_call(int lane, const Signature& call) noexcept;
  /// Tells everybody that this rank is in the group no more.
  void leave() noexcept;
  /// Tells the sender of a message that it was not what this rank wanted.
  void refuse(int sender, std::string_view mismatch) noexcept;

  /// Reads what has come. Error(invalid_argument) when a message of this rank's was refused.
  void read();

  bool is_aborted() const noexcept { return is_aborted_.load(std::memory_order_acquire); }
  /// "rank 2 aborted the group: out of disk"; empty while nobody has.
  std::string abort_text() const;
  /// Grows with every sign of life of any other rank.
  std::uint64_t beats() const noexcept { return beats_.load(std::memory_order_relaxed); }
  /// True when that rank has left and will not come to the call `awaited` of this lane; in a
  /// send_receive, when it has left.
  bool has_left(int rank, int lane, const Signature& awaited) const;
  /// True when another rank has asked, by telling its own, what call this lane is in.
  bool is_asked(int lane) const;
  /// The call that each rank last said to be in on this lane, [size].
  std::vector<std::optional<Signature>> calls(int lane) const;
  /// This rank has ended a call, so whoever said to be in it or an earlier one is so no more.
  void end_call(int lane, const Signature& ended);

 private:
  struct Note;
  /// How many calls of each lane a rank has ended, modulo 2^32.
  using Ended = std::array<std::uint32_t, Communicator::kMaxLanes>;

  void post(int to, const Note& note) noexcept;
  void post_to_all(const Note& note) noexcept;
  void take(int from, const Note& note);

  Group& group_;
  int rank_;
  int size_;
  std::atomic<bool> is_aborted_{false};
  std::atomic<std::uint64_t> beats_{0};
  mutable std::mutex mutex_;  // guards all below; held while the group's own is taken
  std::string abort_text_;
  std::optional<std::string> refusal_;
  Deadline next_beat_;
  Ended ended_{};
  std::vector<std::optional<Ended>> left_;  // [size] of those that have left
  std::array<std::vector<std::optional<Signature>>, Communicator::kMaxLanes> calls_;
};

}  // namespace muster::collectives::mpi
