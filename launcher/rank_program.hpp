#pragma once

#include <span>
#include <string>

namespace muster::launcher {

/// Path of the program that ranks run: muster-rank beside this program, or MUSTER_RANK_PROGRAM.
/// Error(config) when it is not there or cannot be run.
std::string rank_program();

/// Becomes that program, with these arguments. Error(io) when the system refuses.
[[noreturn]] void become_rank_program(std::span<const std::string> arguments);

}  // namespace muster::launcher
