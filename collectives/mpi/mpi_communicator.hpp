#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>

#include "collectives/backends.hpp"
#include "collectives/communicator.hpp"
#include "collectives/lane_worker.hpp"
#include "collectives/mpi/lane.hpp"
#include "collectives/mpi/mpi_session.hpp"
#include "collectives/mpi/notes.hpp"
#include "collectives/mpi/waiter.hpp"
#include "kernels/base/error.hpp"

namespace muster::collectives::mpi {

/// Ranks whose data the MPI library moves, for jobs that mpirun started: to compare with, and for
/// networks that only MPI knows.
///
/// Lanes and threads are as in the shm back end, if MPI can serve several threads; where it cannot,
/// a call on a lane above 0 is an Error(unsupported). Threads take turns in the library.
///
/// What differs from other back ends:
/// - The order of additions is MPI's: the same on all ranks and in every run with the libraries
///   known, but not rank order; 16-bit floats are rounded after each addition, not once. An average
///   of whole numbers may overflow before it is divided.
/// - send() keeps no more than MPI does meanwhile, a few KiB.
/// - abort() reaches ranks that wait here within milliseconds, and others at their next call. Where
///   ranks are on several hosts it may take until this rank next calls MPI.
/// - A rank that dies ends the job: mpirun stops the others at once and returns its exit code.
/// - A collective that was under way when a call failed cannot be taken back: its views belong to
///   MPI until the process ends, and must not be freed before World is left.
/// - A sign of life of any rank extends a wait, also of one that nobody waits for.
class MpiCommunicator final : public Communicator {
 public:
  struct Options {
    int cores_per_rank = 1;
    int lanes = kMaxLanes;  // that MPI can serve
    std::size_t largest_bytes = kLargestBytes;
  };

  /// `group` has this rank and size; `device` is a CPU and outlives the communicator.
  MpiCommunicator(const GroupSpec& spec, std::unique_ptr<Group> group, kernels::Device& device,
                  const Options& options);
  ~MpiCommunicator() override;

  std::string_view backend() const noexcept override { return "mpi"; }
  MemorySource& memory() noexcept override { return device_.memory(); }
  void abort(std::string_view reason) noexcept override { notes_.abort(reason); }
  void heartbeat() noexcept override { notes_.beat(); }

 private:
  /// The thread is last, so that it ends first.
  struct LaneEnd {
    LaneEnd(WaitContext& context, int number, std::size_t largest_bytes)
        : lane(context, number, largest_bytes) {}

    Lane lane;
    std::unique_ptr<LaneWorker> worker;
  };

  Pending do_call(const Call& call) override;
  LaneEnd& lane_end(int lane);
  void execute(Lane& lane, const Call& call, Deadline deadline);
  void fail(Lane& lane, const Error& error);

  Options options_;
  kernels::Device& device_;
  std::unique_ptr<Group> group_;
  Notes notes_;
  WaitContext context_;
  std::atomic<bool> has_failed_{false};
  std::mutex failure_mutex_;      // guards failure_
  std::optional<Error> failure_;  // the first; every later call throws it too
  std::array<std::unique_ptr<LaneEnd>, kMaxLanes> lane_ends_;
};

/// The back end's entry: meets the other ranks by way of the store, then makes their group in MPI.
/// A group of one rank is a SelfCommunicator and calls no MPI.
std::unique_ptr<Communicator> create_mpi_communicator(const GroupSpec& spec, Store& store,
                                                      kernels::Device& device, Deadline deadline);

}  // namespace muster::collectives::mpi
