#pragma once

#include <string>

#include "runtime/engine/program.hpp"
#include "runtime/program/price.hpp"

namespace muster::runtime {

/// The lists of a program as text, one op a line: number, kind, operands with shapes and dtypes,
/// bytes, FLOPs, predicted time where the profile knows it, and where computed values lie in the
/// arena; values that backward reads later are marked with *. Of equal blocks the first is shown.
std::string show_program(const Program& program, const Profile& profile);

}  // namespace muster::runtime
