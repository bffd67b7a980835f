#pragma once

#include <string>

namespace muster::collectives {

/// Ranks that somebody else's launcher started tell each other how to find the store, once. It is
/// implemented by the plug-in libmuster_mpi.so (mpi/mpi_session.hpp), so that no program of ours is
/// linked to MPI.
///
/// Errors: whatever the MPI library does, which is to end the job.
class Messenger {
 public:
  Messenger() = default;
  Messenger(const Messenger&) = delete;
  Messenger& operator=(const Messenger&) = delete;
  /// Does not leave MPI: a rank that ends in trouble must not wait for the others there.
  virtual ~Messenger() = default;

  virtual int rank() const noexcept = 0;
  virtual int size() const noexcept = 0;
  /// Collective: every rank's `message` becomes rank 0's.
  virtual void broadcast(std::string& message) = 0;
  /// Leaves MPI. Collective. A process that has left MPI may end as it likes, and mpirun returns
  /// its exit code.
  virtual void finish() = 0;
};

}  // namespace muster::collectives
