#pragma once

#include <string>
#include <vector>

#include <sys/types.h>

#include "collectives/trace/reader.hpp"

namespace muster::launcher {

/// A job of this host as its door is named.
struct JobName {
  std::string id;
  pid_t launcher = 0;
  uid_t user = 0;
};

/// Jobs that run on this host, all users'.
std::vector<JobName> running_jobs();

struct RunningRank {
  int rank = 0;
  pid_t pid = 0;
  bool has_ended = false;
  collectives::trace::RecordReader record;
};

/// A running job with the records of its ranks.
struct RunningJob {
  JobName name;
  std::vector<RunningRank> ranks;
};

/// Asks the launcher of a job, named by its id or its launcher's pid. Error(config) when there is
/// none, with those there are; when it is another user's; timeout when it does not answer.
RunningJob open_running_job(const std::string& job);

}  // namespace muster::launcher
