#pragma once

#include "launcher/status_options.hpp"

namespace muster::launcher {

/// `muster dump`: the last collectives of every rank of a running job, as text or JSON. Returns 0.
/// Errors as run_status_command().
int run_dump_command(const DumpCommand& command);

}  // namespace muster::launcher
