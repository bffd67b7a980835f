#pragma once

#include <string>

#include "runtime/control/reporter.hpp"
#include "runtime/world/world.hpp"

namespace muster::runtime {

/// What `muster probe` is asked for. Empty paths: nothing is written there.
struct ProbeOptions {
  std::string backend = "auto";      // between the ranks
  std::string out = "cluster.toml";  // cluster_to_toml()
  std::string html;                  // cluster_html()
  std::string racks;                 // a file of lines "HOST RACK"
  bool is_fresh = false;             // measures all, whatever is cached
  double timeout_s = 60.0;           // of any one meeting of the ranks
};

/// Measures the links between the ranks of the world, and small all_reduces of all of them; rank 0
/// prints levels, matrix, findings and when they were measured, and writes the files. Collective.
/// Returns 0.
///
/// The result is kept in cache_folder() for the same hosts, network interfaces and ranks; a later
/// probe takes it where a few links agree with it (recall_probe). A cache that cannot be used or
/// written is no error: one line names file and reason.
///
/// Errors: config when the file of racks is wrong or a path cannot be written, before anything is
/// measured.
int run_probe(World& world, const ProbeOptions& options, Reporter& reporter);

}  // namespace muster::runtime
