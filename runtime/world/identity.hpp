#pragma once

#include <optional>
#include <string>
#include <vector>

#include "collectives/net/endpoint.hpp"
#include "runtime/world/environment.hpp"

namespace muster::runtime {

/// How a rank learns where the store is and what the secret is.
enum class Entry {
  alone,      // a world of one needs no store
  ticket,     // from the launcher, over an inherited pipe
  messenger,  // one broadcast through the MPI plug-in; rank 0 serves the store
  address,    // MASTER_ADDR, MASTER_PORT and a secret file; rank 0 serves the store
};

/// Who this process is, as far as its environment tells.
struct Identity {
  std::string origin = "single process";
  int rank = 0;
  int size = 1;
  std::optional<int> local_size;  // as the starter says; join_world() counts for itself
  Entry entry = Entry::alone;
  int ticket_fd = -1;           // Entry::ticket
  collectives::Endpoint store;  // Entry::address
  std::string secret_file;      // Entry::address; empty when none is named
  std::string job_id;           // Entry::address
  std::string interface;        // Entry::messenger: where rank 0 serves the store; empty: chosen
  std::vector<std::string> remarks;  // disagreements that were decided; join_world() logs them

  bool is_single() const noexcept { return origin == "single process"; }
};

/// Reads the identity, believing in this order: our launcher (MUSTER_RANK, MUSTER_WORLD_SIZE);
/// torchrun (TORCHELASTIC_RUN_ID, RANK, WORLD_SIZE); Open MPI (OMPI_COMM_WORLD_RANK, _SIZE); PMI
/// (PMI_RANK, PMI_SIZE); a Slurm step (SLURM_PROCID, SLURM_STEP_NUM_TASKS); the plain set RANK,
/// WORLD_SIZE, MASTER_ADDR, MASTER_PORT; a single process.
///
/// mpirun's ranks inherit the Slurm variables of the daemon that started them, the same for all:
/// hence Open MPI before Slurm. A batch script has SLURM_PROCID but no step, and a step of one task
/// is somebody's shell: neither is a rank.
///
/// Error(config): a set that is there in part, a rank outside its world, Slurm numbers that
/// contradict each other. A process never takes itself for a world of one because a variable is
/// missing. Sets that disagree about the size: the higher in this order, and a remark names both.
Identity read_identity(const Environment& environment);

}  // namespace muster::runtime
