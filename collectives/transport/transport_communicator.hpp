#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>

#include "collectives/backends.hpp"
#include "collectives/communicator.hpp"
#include "collectives/select.hpp"
#include "collectives/transport/transport.hpp"
#include "kernels/base/error.hpp"

namespace muster::collectives {

/// All collectives over a Fabric, by the algorithms that a table chooses.
///
/// Lane 0 runs on the calling thread, and its calls are done when they return. Lanes 1 to 3 do too
/// when ranks have fewer than two cores each; otherwise each gets a thread at its first call, and
/// a Pending is done later. Lanes above 0 reduce with one thread. After the first calls of a kind
/// and size nothing is allocated here.
///
/// A failure is remembered: every later call on this rank throws it too.
class TransportCommunicator final : public Communicator {
 public:
  /// Not collective: moves nothing. `algorithms` is the same on every rank. `device` is a CPU and
  /// outlives the communicator.
  TransportCommunicator(const GroupSpec& group, std::unique_ptr<Fabric> fabric,
                        kernels::Device& device, AlgorithmTable algorithms = AlgorithmTable());
  ~TransportCommunicator() override;

  /// The name of the fabric.
  std::string_view backend() const noexcept override { return fabric_->name(); }
  /// Plain memory of the device.
  MemorySource& memory() noexcept override { return device_.memory(); }
  void abort(std::string_view reason) noexcept override { fabric_->abort(reason); }
  void abort_mismatch(int lane, std::string_view text) noexcept override {
    fabric_->abort_mismatch(lane, text);
  }
  void heartbeat() noexcept override { fabric_->heartbeat(); }

  const AlgorithmTable& algorithms() const noexcept { return algorithms_; }

 private:
  struct LaneEnd;

  Pending do_call(const Call& call) override;
  LaneEnd& lane_end(int lane);
  void execute(LaneEnd& end, const Call& call, Deadline deadline);
  void fail(const Error& error);

  std::unique_ptr<Fabric> fabric_;
  bool has_threads_;
  const bool crosses_hosts_;
  kernels::Device& device_;
  AlgorithmTable algorithms_;
  std::atomic<bool> has_failed_{false};
  std::mutex failure_mutex_;      // guards failure_
  std::optional<Error> failure_;  // the first; every later call throws it too
  std::array<std::unique_ptr<LaneEnd>, kMaxLanes> lane_ends_;
};

}  // namespace muster::collectives
