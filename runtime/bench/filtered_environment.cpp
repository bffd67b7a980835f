#include "runtime/bench/filtered_environment.hpp"

#include <algorithm>
#include <array>
#include <cctype>

#include <unistd.h>

namespace muster::runtime {

bool is_shown_variable(std::string_view name) {
  constexpr std::array<std::string_view, 5> kPrefixes = {"MUSTER_", "NCCL_", "OMP_", "OMPI_",
                                                         "SLURM_"};
  constexpr std::array<std::string_view, 4> kHidden = {"SECRET", "TOKEN", "KEY", "PASSWORD"};
  std::string upper(name);
  std::transform(upper.begin(), upper.end(), upper.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  const bool is_ours =
      std::any_of(kPrefixes.begin(), kPrefixes.end(),
                  [&](std::string_view prefix) { return name.starts_with(prefix); });
  return is_ours && std::none_of(kHidden.begin(), kHidden.end(), [&](std::string_view part) {
           return upper.find(part) != std::string::npos;
         });
}

std::vector<std::string> filtered_environment(const std::vector<std::string>& all) {
  std::vector<std::string> shown;
  for (const std::string& variable : all) {
    if (is_shown_variable(std::string_view(variable).substr(0, variable.find('=')))) {
      shown.push_back(variable);
    }
  }
  std::sort(shown.begin(), shown.end());
  return shown;
}

std::vector<std::string> filtered_environment() {
  std::vector<std::string> all;
  for (char** variable = ::environ; *variable != nullptr; ++variable) all.emplace_back(*variable);
  return filtered_environment(all);
}

}  // namespace muster::runtime
