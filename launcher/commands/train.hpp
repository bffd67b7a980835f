#pragma once

#include <span>
#include <string>

#include "launcher/options.hpp"

namespace muster::launcher {

/// `muster train`: starts the ranks on this host and watches them, or, where another launcher has
/// already made this process a rank, becomes that rank. `arguments`: the command line, which the
/// ranks get as it is. Returns the job's exit code. Errors: config before any rank is started; io
/// when one cannot be.
int run_train_command(const TrainCommand& command, std::span<const std::string> arguments);

}  // namespace muster::launcher
