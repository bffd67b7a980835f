#pragma once

#include "launcher/status_options.hpp"

namespace muster::launcher {

/// `muster status`: a line for every rank of a running job, or the jobs there are. Returns 0.
/// Errors: config when there is no such job or it is another user's, timeout when its launcher does
/// not answer. Works whatever state the ranks are in.
int run_status_command(const StatusCommand& command);

}  // namespace muster::launcher
