#pragma once

#include <condition_variable>
#include <functional>
#include <list>
#include <mutex>
#include <stop_token>
#include <thread>

#include "collectives/call.hpp"
#include "collectives/communicator.hpp"
#include "kernels/base/deadline.hpp"

namespace muster::collectives {

/// Runs a lane's calls in order on a thread of its own, so that the caller computes meanwhile.
///
/// One thread at a time may enqueue; any thread may wait for a Pending, which must be gone before
/// the worker is. Handles are kept for reuse: after the first calls nothing is allocated.
class LaneWorker {
 public:
  /// Does one call to its end or throws. Called by the worker's thread alone.
  using Run = std::function<void(const Call&, Deadline)>;

  explicit LaneWorker(Run run);
  LaneWorker(const LaneWorker&) = delete;
  LaneWorker& operator=(const LaneWorker&) = delete;
  ~LaneWorker();

  /// The call's deadline runs from here, not from when its turn comes.
  Pending enqueue(const Call& call);

 private:
  class Job;

  Job& take_free_job();
  void give_back(Job& job) noexcept;
  void work(const std::stop_token& stop);

  Run run_;
  std::mutex mutex_;  // guards all below but the thread
  std::condition_variable_any changed_;
  std::list<Job> jobs_;   // all there are; a list never moves them
  Job* free_ = nullptr;   // list of those without a call
  Job* first_ = nullptr;  // list of those whose turn has not come
  Job* last_ = nullptr;
  std::jthread thread_;  // last: it ends before anything it uses
};

}  // namespace muster::collectives
