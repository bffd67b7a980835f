#include "runtime/bench/filtered_environment.hpp"

#include <algorithm>
#include <array>
#include <cctype>

#include <unistd.h>

namespace muster::runtime {

bool is_shown_variable(std::string_view name) {
  constexpr std::array<std::string_view, 5> kPrefixes = {"MUSTER_", "NCCL_", "OMP_", "OMPI_",
                                                         "SLURM_"};
  constexpr std::array<std::string_view, 8> kHidden = {"SECRET", "TOKEN",    "KEY", "PASS",
                                                       "AUTH",   "CREDENTI", "JWT", "COOKIE"};
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

namespace {

/// Addresses keep their host, not who logs in there: "http://user:word@host" is "http://host".
std::string without_logins(std::string variable) {
  for (std::size_t at = 0; (at = variable.find("://", at)) != std::string::npos;) {
    at += 3;
    const std::size_t end = std::min(variable.find_first_of("/?# ,;", at), variable.size());
    const std::size_t login = variable.rfind('@', end);
    if (login != std::string::npos && login >= at && login < end) {
      variable.erase(at, login + 1 - at);
    }
  }
  return variable;
}

}  // namespace

std::vector<std::string> filtered_environment(const std::vector<std::string>& all) {
  std::vector<std::string> shown;
  for (const std::string& variable : all) {
    if (is_shown_variable(std::string_view(variable).substr(0, variable.find('=')))) {
      shown.push_back(without_logins(variable));
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
