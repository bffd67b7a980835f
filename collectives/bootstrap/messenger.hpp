#pragma once

#include <string>

namespace muster::collectives {

/// Ranks that somebody else's launcher started tell each other how to find the store, once. It is
/// implemented by the plug-in libmuster_mpi.so, so that no program of ours is linked to MPI.
///
/// Errors: whatever the MPI library does, which is to end the job.
class Messenger {
 public:
  Messenger() = default;
  Messenger(const Messenger&) = delete;
  Messenger& operator=(const Messenger&) = delete;
  virtual ~Messenger() = default;

  virtual int rank() const noexcept = 0;
  virtual int size() const noexcept = 0;
  /// Collective: every rank's `message` becomes rank 0's.
  virtual void broadcast(std::string& message) = 0;
  /// Leaves MPI. To be called right after the broadcast: a process that has left MPI may end as it
  /// likes, and mpirun returns its exit code.
  virtual void finish() = 0;
};

/// The one entry of the plug-in. Starts MPI and returns the messenger, which the caller deletes; or
/// returns nullptr when `build_id` is not the plug-in's own, which is then in `*plugin_build_id`.
using OpenMessenger = Messenger* (*)(const char* build_id, const char** plugin_build_id);
inline constexpr const char* kOpenMessenger = "muster_open_messenger";
inline constexpr const char* kMpiPlugin = "libmuster_mpi.so";

}  // namespace muster::collectives
