#pragma once

#include <string>
#include <vector>

#include "collectives/net/endpoint.hpp"

namespace muster::launcher {

/// What a rank started on this host is told about itself.
struct RankIdentity {
  int rank = 0;
  int size = 1;
  std::string job_id;
  collectives::Endpoint store;
  int ticket_fd = -1;
  int control_fd = -1;
  int trace_fd = -1;
};

/// The environment of a rank: `inherited` ("NAME=VALUE"), without what other launchers left behind
/// (an MPI library inside the rank must not believe that it is one of theirs), with muster's own
/// variables and torchrun's.
std::vector<std::string> rank_environment(const std::vector<std::string>& inherited,
                                          const RankIdentity& identity);

/// Of this process.
std::vector<std::string> inherited_environment();

}  // namespace muster::launcher
