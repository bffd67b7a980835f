#pragma once

#include <string_view>

#include "collectives/backends.hpp"
#include "collectives/communicator.hpp"
#include "kernels/device/device.hpp"

namespace muster::collectives {

/// A group of one rank: every collective is a copy of `in` to `out`, avg included. Nothing waits,
/// so lanes share the caller's thread and abort() has nobody to wake.
class SelfCommunicator final : public Communicator {
 public:
  /// `device` outlives the communicator.
  SelfCommunicator(const GroupSpec& group, kernels::Device& device)
      : Communicator(group.name, group.rank, group.size), device_(device) {}

  std::string_view backend() const noexcept override { return "self"; }
  MemorySource& memory() noexcept override { return device_.memory(); }
  void abort(std::string_view /*reason*/) noexcept override {}
  void heartbeat() noexcept override {}

 private:
  Pending do_call(const Call& call) override;

  kernels::Device& device_;
};

}  // namespace muster::collectives
