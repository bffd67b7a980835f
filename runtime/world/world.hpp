#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "collectives/bootstrap/secret.hpp"
#include "collectives/bootstrap/store.hpp"
#include "collectives/mpi/mpi_session.hpp"

namespace muster::runtime {

/// One rank as its peers know it after rendezvous.
struct Member {
  int rank = 0;
  int local_rank = 0;   // number among the ranks of its host
  std::string host;     // name, for people
  std::string host_id;  // equal exactly for ranks that share a kernel and its memory
  int pid = 0;
  std::vector<int> cpus;  // logical processors it may run on, ascending
};

/// Who this rank is and who the others are. Made once at start by join_world().
struct World {
  std::string job_id;
  int rank = 0;
  int size = 1;
  int local_rank = 0;
  int local_size = 1;
  std::string origin;  // what told us: "muster", "Open MPI", "environment", "single process"
  std::vector<Member> members;  // [size]
  std::unique_ptr<collectives::Store> store;
  std::optional<collectives::Secret> secret;       // the job's; there once joined
  std::unique_ptr<collectives::mpi::Session> mpi;  // where it was kept: outlives its groups
  bool is_store_in_rank_0 = false;                 // it ends with rank 0: see leave_world()
};

/// Set by a signal or by the launcher; read at step boundaries. Lock-free, safe in signal handlers.
class StopFlag {
 public:
  void request() noexcept { asked_.store(true, std::memory_order_relaxed); }
  bool is_asked() const noexcept { return asked_.load(std::memory_order_relaxed); }

 private:
  std::atomic<bool> asked_{false};
};

}  // namespace muster::runtime
