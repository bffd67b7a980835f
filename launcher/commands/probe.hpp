#pragma once

#include <span>
#include <string>

#include "launcher/options.hpp"

namespace muster::launcher {

/// `muster probe`: starts the ranks on this host and watches them, or becomes a rank where another
/// launcher has already made this process one. `arguments`: the command line, which the ranks get
/// as it is. Returns the exit code.
int run_probe_command(const ProbeCommand& command, std::span<const std::string> arguments);

}  // namespace muster::launcher
