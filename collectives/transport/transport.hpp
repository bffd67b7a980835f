#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "collectives/call.hpp"
#include "collectives/signature.hpp"
#include "kernels/base/deadline.hpp"

namespace muster::collectives {

/// Moves bytes between the ranks of one group, on one lane: what algorithms are written over.
///
/// A call begins with begin(); then messages are posted, which returns at once, and waited for.
/// Between two ranks messages are matched in the order of posting, per direction, and have the same
/// length at both ends. Every message carries the signature of its call; a receiver that is in
/// another call throws the mismatch, and so does the sender soon after. Calls are compared where
/// they lie in the sequence, also when this rank has gone on since. Messages of a call that peers
/// have begun and this rank has not wait their turn.
///
/// The bytes of a message belong to the transport until its ticket was waited for. Waiting for any
/// ticket moves all messages on. Empty messages are moved too, and are as good as a signal.
///
/// Errors, all of which leave the group unusable on this rank: timeout (names the call, both ends
/// and the bytes still missing), peer_lost (with the reason of an abort, or how the connection
/// ended), invalid_argument (mismatch).
///
/// One thread at a time.
class Transport {
 public:
  /// Numbers grow in the order of posting.
  using Ticket = std::uint64_t;
  /// So many calls in a row may be ones after which a rank goes on before all have come.
  static constexpr std::uint64_t kMaxLead = 32;

  Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;
  virtual ~Transport() = default;

  virtual int rank() const noexcept = 0;
  virtual int size() const noexcept = 0;

  /// Messages posted from now on belong to this call; those posted before keep their signature. In
  /// a new call all earlier tickets have been waited for; the two halves of one send_receive, whose
  /// counts may differ, begin one after the other.
  virtual void begin(const Signature& signature, const CallOptions& options, Deadline deadline) = 0;

  virtual Ticket send(int to, std::span<const std::byte> data) = 0;
  virtual Ticket receive(int from, std::span<std::byte> data) = 0;

  /// Returns once a sent message's bytes may be overwritten, or a received one's are there.
  virtual void wait(Ticket ticket) = 0;
  virtual void wait_all() = 0;
};

/// The connections of one group, from which each lane gets a transport of its own: lanes share
/// nothing that would make one wait for another.
class Fabric {
 public:
  Fabric() = default;
  Fabric(const Fabric&) = delete;
  Fabric& operator=(const Fabric&) = delete;
  virtual ~Fabric() = default;

  /// "tcp", …
  virtual std::string_view name() const noexcept = 0;
  virtual int rank() const noexcept = 0;
  virtual int size() const noexcept = 0;
  /// "rank 1 (pid 4711, host a, 10.0.0.2)"
  virtual std::string describe(int of_rank) const = 0;

  /// Not collective: what a lane needs of its peers it gets when messages are posted. The fabric
  /// outlives its lanes. Any thread may call, once per lane.
  virtual std::unique_ptr<Transport> open_lane(int lane) = 0;

  /// As those of Communicator: any thread, at any time, never blocking.
  virtual void abort(std::string_view reason) noexcept = 0;
  virtual void abort_mismatch(int /*lane*/, std::string_view text) noexcept { abort(text); }
  virtual void heartbeat() noexcept = 0;
};

}  // namespace muster::collectives
