#pragma once

#include <memory>
#include <string>

#include "collectives/mpi/mpi_session.hpp"
#include "runtime/world/identity.hpp"

namespace muster::runtime {

/// Opens the MPI plug-in, which lies beside this program or in ../lib or ../lib/muster from there,
/// and starts MPI. Collective over the ranks of the job.
///
/// Error(config): no plug-in, and what to install or set instead; one of another build; an MPI
/// library that does not know the launcher, so that every rank would be alone.
std::unique_ptr<collectives::mpi::Session> open_messenger(const Identity& identity,
                                                          const std::string& build_id);

}  // namespace muster::runtime
