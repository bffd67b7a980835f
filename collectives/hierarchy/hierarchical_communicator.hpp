#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

#include "collectives/backends.hpp"
#include "collectives/communicator.hpp"
#include "collectives/hierarchy/host_layout.hpp"
#include "collectives/lane_worker.hpp"
#include "kernels/base/error.hpp"

namespace muster::collectives {

/// The groups that a hierarchical communicator is made of, on one rank. `local` and `column` are
/// nullptr where the rank is alone on its host, and where it is in no column.
struct HostGroups {
  std::unique_ptr<Communicator> local;   // this host's ranks
  std::unique_ptr<Communicator> column;  // the ranks with this local rank, one per host
  std::unique_ptr<Communicator> flat;    // all ranks
};

/// Ranks on several hosts. A host's ranks reduce among themselves over shared memory before the
/// network sees anything, so that every host sends and receives the 2 (h - 1) / h S bytes of h
/// hosts, however many ranks it has; each local rank carries its own part of them, so that the
/// network's work is shared among cores. Hosts may have unequal numbers of ranks.
///
///   all_reduce   reduce_scatter on the host, all_reduce in each column, all_gather on the host;
///                up to 64 KiB: reduce to the host's first rank, all_reduce of these, broadcast
///   broadcast    in the columns, a part each, then all_gather on the hosts
///   reduce, reduce_scatter, all_gather(_v), barrier
///                by way of the hosts' first ranks
///   the rest     between all ranks directly
///
/// 16-bit floats are rounded once per level: on the host and across hosts. Where a host's ranks are
/// not neighbours in the group, all_gather and reduce_scatter go between all ranks directly.
///
/// Lanes and errors are those of Communicator: ranks compare the call itself in each step, and
/// errors name it, this group and its ranks. An error in one of the groups aborts the others, so
/// that it reaches every rank.
class HierarchicalCommunicator final : public Communicator {
 public:
  HierarchicalCommunicator(const GroupSpec& group, HostGroups groups, kernels::Device& device);
  ~HierarchicalCommunicator() override;

  std::string_view backend() const noexcept override { return "hierarchical"; }
  /// Memory that the ranks of this host share.
  MemorySource& memory() noexcept override { return local_or_flat().memory(); }
  void abort(std::string_view reason) noexcept override;
  void abort_mismatch(int lane, std::string_view text) noexcept override;
  void heartbeat() noexcept override;

 private:
  struct LaneEnd;

  Pending do_call(const Call& call) override;
  LaneEnd& lane_end(int lane);
  void execute(LaneEnd& end, const Call& call, std::optional<Deadline> deadline);
  void fail(int lane, const Error& error);
  Communicator& local_or_flat() const noexcept {
    return groups_.local != nullptr ? *groups_.local : *groups_.flat;
  }

  HostLayout layout_;
  HostGroups groups_;
  kernels::Device& device_;
  bool has_threads_;
  std::atomic<bool> has_failed_{false};
  std::mutex failure_mutex_;      // guards failure_
  std::optional<Error> failure_;  // the first; every later call throws it too
  std::array<std::unique_ptr<LaneEnd>, kMaxLanes> lane_ends_;
};

/// The back end's entry: makes the three groups, by "auto" on the host and "tcp" across.
std::unique_ptr<Communicator> create_hierarchical_communicator(const GroupSpec& group, Store& store,
                                                               kernels::Device& device,
                                                               Deadline deadline);

}  // namespace muster::collectives
