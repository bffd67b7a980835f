#include "runtime/config/limits.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "collectives/select.hpp"
#include "runtime/config/names.hpp"

namespace muster::runtime {
namespace {

std::string describe_range(const Limits& limits) {
  std::string text;
  if (std::isfinite(limits.min)) {
    text = fmt::format("{} {}", limits.is_min_excluded ? ">" : ">=", limits.min);
  }
  if (std::isfinite(limits.max)) {
    text += fmt::format("{}{} {}", text.empty() ? "" : " and ",
                        limits.is_max_excluded ? "<" : "<=", limits.max);
  }
  return text;
}

bool is_inside(double value, const Limits& limits) {
  const bool above = limits.is_min_excluded ? value > limits.min : value >= limits.min;
  const bool below = limits.is_max_excluded ? value < limits.max : value <= limits.max;
  return above && below;
}

bool is_step(std::string_view text) {
  constexpr std::size_t kLongestStep = 12;  // digits: below 10^12, the most steps a job may have
  return !text.empty() && text.size() <= kLongestStep &&
         text.find_first_not_of("0123456789") == std::string_view::npos;
}

std::string complaint_of_algorithms(std::string_view value) {
  const auto unknown = collectives::AlgorithmTable::find_unknown(value);
  if (!unknown) return {};
  const std::vector<std::string> known(unknown->known.begin(), unknown->known.end());
  const std::string meant = nearest(unknown->word, known);
  return fmt::format("is {}; {}{}", quote(value), unknown->describe(),
                     meant.empty() ? "" : fmt::format("; nearest: \"{}\"", meant));
}

}  // namespace

std::vector<std::string> words(std::string_view choices) {
  std::vector<std::string> all;
  while (!choices.empty()) {
    const std::size_t end = std::min(choices.find(' '), choices.size());
    all.emplace_back(choices.substr(0, end));
    choices.remove_prefix(std::min(end + 1, choices.size()));
  }
  return all;
}

std::string describe(const Limits& limits) {
  if (limits.is_algorithms) {
    return "names of algorithms: \"auto\", \"ring\", \"all_reduce=ring;broadcast=chain\"";
  }
  if (limits.choices.empty()) return describe_range(limits);
  const std::vector<std::string> all = words(limits.choices);
  std::string text = all.size() == 1 ? "" : "one of ";
  for (std::size_t i = 0; i < all.size(); ++i) {
    text += fmt::format("{}\"{}\"", i == 0 ? "" : ", ", all[i]);
  }
  if (limits.takes_step) text += ", or the number of a step";
  return text;
}

std::string complaint(double value, const Limits& limits) {
  if (!std::isfinite(value)) return fmt::format("is {}; must be a finite number", value);
  if (is_inside(value, limits)) return {};
  return fmt::format("is {}; must be {}", value, describe_range(limits));
}

std::string complaint(std::string_view value, const Limits& limits) {
  if (limits.is_algorithms) return complaint_of_algorithms(value);
  if (limits.choices.empty()) return {};
  const std::vector<std::string> all = words(limits.choices);
  if (std::ranges::find(all, value) != all.end()) return {};
  if (limits.takes_step && is_step(value)) return {};
  const std::string meant = nearest(value, all);
  return fmt::format("is {}; must be {}{}", quote(value), describe(limits),
                     meant.empty() ? "" : fmt::format("; nearest: \"{}\"", meant));
}

}  // namespace muster::runtime
