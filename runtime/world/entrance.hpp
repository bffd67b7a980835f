#pragma once

#include <memory>
#include <string>

#include "collectives/bootstrap/secret.hpp"
#include "collectives/bootstrap/store.hpp"
#include "collectives/mpi/mpi_session.hpp"
#include "kernels/base/deadline.hpp"
#include "runtime/world/join.hpp"

namespace muster::runtime {

/// A rank's way to the store of its job.
struct Entrance {
  std::unique_ptr<collectives::Store> store;
  collectives::Secret secret;  // the job's
  std::string job_id;
  bool is_store_in_rank_0 = false;
  std::unique_ptr<collectives::mpi::Session> mpi = {};  // where it was to be kept open
};

/// Opens the entrance that the identity names. Collective where rank 0 serves the store.
Entrance enter(const Identity& identity, const JoinOptions& options, Deadline deadline);

}  // namespace muster::runtime
