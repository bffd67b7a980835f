#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>

#include "collectives/backends.hpp"
#include "collectives/communicator.hpp"
#include "collectives/lane_worker.hpp"
#include "collectives/shm/group.hpp"
#include "collectives/shm/lane.hpp"
#include "collectives/shm/symmetric_memory.hpp"
#include "kernels/base/error.hpp"

namespace muster::collectives::shm {

/// The ranks of one host, which reach each other's memory.
///
/// Each rank owns a segment (shm/layout.hpp) that all others have mapped: control lines, staging
/// and the symmetric heap. There is no helper process or thread: ranks move the data themselves.
///
/// Lane 0 runs on the calling thread, and its calls are done when they return. Lanes 1 to 3 do too
/// when ranks have fewer than two cores each; otherwise each gets a thread at its first call, and
/// a Pending is done later. Lanes above 0 reduce with one thread.
///
/// The root of a small broadcast may be up to kMaxLead calls ahead of others. If their calls differ
/// from its own, then it learns so in a later call.
///
/// Errors beyond those of Communicator: a peer that dies is an Error(peer_lost) with its rank, pid
/// and host within some milliseconds.
class ShmCommunicator final : public Communicator {
 public:
  /// Collective: returns once all ranks have come. Every segment of `group` is mapped and was
  /// filled with zeros. `device` is a CPU and outlives the communicator.
  ShmCommunicator(Group group, int cores_per_rank, kernels::Device& device, Deadline deadline);
  ~ShmCommunicator() override;

  std::string_view backend() const noexcept override { return "shm"; }
  MemorySource& memory() noexcept override { return memory_; }
  void abort(std::string_view reason) noexcept override;
  void abort_mismatch(int lane, std::string_view text) noexcept override;
  void heartbeat() noexcept override {
    group_.control(rank()).heartbeats.value.fetch_add(1, std::memory_order_relaxed);
  }

 private:
  struct LaneEnd;

  Pending do_call(const Call& call) override;
  LaneEnd& lane_end(int lane);
  void execute(Lane& lane, const Call& call, std::optional<Deadline> deadline);
  void fail(const Error& error);
  void tell_all(ErrorCode code, std::string_view reason) noexcept;
  void agree_on_reach(Deadline deadline);

  Group group_;
  bool has_threads_;
  kernels::Device& device_;
  SymmetricMemory memory_;
  std::atomic_flag has_reason_;  // this rank's reason to abort is taken
  std::atomic<bool> has_failed_{false};
  std::mutex failure_mutex_;      // guards failure_
  std::optional<Error> failure_;  // the first; every later call throws it too
  std::array<std::unique_ptr<LaneEnd>, kMaxLanes> lane_ends_;
};

/// The back end's entry: makes the segment, passes it round, maps the others'.
std::unique_ptr<Communicator> create_shm_communicator(const GroupSpec& group, Store& store,
                                                      kernels::Device& device, Deadline deadline);

}  // namespace muster::collectives::shm
