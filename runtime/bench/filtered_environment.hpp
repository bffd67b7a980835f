#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace muster::runtime {

/// True for a variable that a report may show: its name begins with MUSTER_, NCCL_, OMP_, OMPI_ or
/// SLURM_ and does not contain SECRET, TOKEN, KEY, PASS, AUTH, CREDENTI, JWT or COOKIE, in any
/// case.
bool is_shown_variable(std::string_view name);

/// "NAME=VALUE" of this process's variables that may be shown, in alphabetical order; addresses in
/// values lose their user and password.
std::vector<std::string> filtered_environment(const std::vector<std::string>& all);
std::vector<std::string> filtered_environment();

}  // namespace muster::runtime
