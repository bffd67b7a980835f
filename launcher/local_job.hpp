#pragma once

#include <span>
#include <string>

namespace muster::launcher {

/// Ranks to be started on this host.
struct LocalJob {
  int ranks = 1;
  double grace_s = 5.0;           // from a stop request to the end of ranks that have not ended
  double stall_warning_s = 30.0;  // a rank that waits so long in a collective is said
  bool is_resumable = true;       // ranks that are asked to stop save a checkpoint first
  int threads = 0;                // that a rank wants to compute with; 0: its share of processors
};

/// Starts the ranks of a job on this host, each with these arguments, and watches them until all
/// have ended. Returns the job's exit code. Errors: config when the program of the ranks is not
/// there; io when a rank cannot be started.
int run_local_job(const LocalJob& job, std::span<const std::string> arguments);

}  // namespace muster::launcher
