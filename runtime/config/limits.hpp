#pragma once

#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace muster::runtime {

/// What values a key of the job file takes. Numbers lie in [min, max], without an end where said
/// so; strings are among `choices`, words separated by blanks, when there are any.
struct Limits {
  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
  bool is_min_excluded = false;
  bool is_max_excluded = false;
  std::string_view choices = {};
  bool takes_step = false;     // a string that may be the number of a step as well
  bool is_path = false;        // a string that names a file or folder
  bool is_algorithms = false;  // a string that names algorithms of collectives
};

/// The words of Limits::choices.
std::vector<std::string> words(std::string_view choices);

/// ">= 1 and < 10", or "one of "a", "b""; empty without limits.
std::string describe(const Limits& limits);

/// What is wrong with a value, to follow the key's name: "is -1; must be >= 1". Empty when allowed.
std::string complaint(double value, const Limits& limits);
std::string complaint(std::string_view value, const Limits& limits);

}  // namespace muster::runtime
