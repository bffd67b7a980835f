#include "collectives/select.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "collectives/algorithms/list.hpp"
#include "kernels/base/error.hpp"

namespace muster::collectives {
namespace {

using algorithms::Algorithm;
using algorithms::all_algorithms;

constexpr std::string_view kAuto = "auto";

struct ProfileField {
  std::string_view name;
  double LinkProfile::*value;
};
constexpr std::array kProfileFields = {
    ProfileField{"alpha_s", &LinkProfile::alpha_s},
    ProfileField{"beta_s_per_byte", &LinkProfile::beta_s_per_byte},
    ProfileField{"gamma_s_per_byte", &LinkProfile::gamma_s_per_byte},
};

// Splits off what stands before `separator`; nothing of `rest` is left after the last.
std::string_view split_off(std::string_view& rest, char separator) {
  const std::size_t end = rest.find(separator);
  const std::string_view first = rest.substr(0, end);
  rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
  return first;
}

std::optional<CallKind> parse_kind(std::string_view text) {
  for (const Algorithm& algorithm : all_algorithms()) {
    if (to_string(algorithm.kind) == text) return algorithm.kind;
  }
  return std::nullopt;
}

const Algorithm* find(CallKind kind, std::string_view name) {
  for (const Algorithm& algorithm : all_algorithms()) {
    if (algorithm.kind == kind && algorithm.name == name) return &algorithm;
  }
  return nullptr;
}

std::vector<std::string_view> kind_names() {
  std::vector<std::string_view> names;
  for (const Algorithm& algorithm : all_algorithms()) {
    const std::string_view name = to_string(algorithm.kind);
    if (names.empty() || names.back() != name) names.push_back(name);
  }
  return names;
}

std::vector<std::string_view> all_names() {
  std::vector<std::string_view> names;
  for (const Algorithm& algorithm : all_algorithms()) names.push_back(algorithm.name);
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  names.insert(names.begin(), kAuto);
  return names;
}

std::optional<UnknownName> unknown_in_entry(std::string_view name) {
  if (name.find('=') == std::string_view::npos) {
    std::vector<std::string_view> known = all_names();
    if (std::find(known.begin(), known.end(), name) != known.end()) return std::nullopt;
    return UnknownName{.word = name, .kind = {}, .known = std::move(known)};
  }
  const std::string_view kind_name = split_off(name, '=');
  const std::optional<CallKind> kind = parse_kind(kind_name);
  if (!kind) {
    return UnknownName{.word = kind_name, .kind = {}, .is_kind = true, .known = kind_names()};
  }
  if (name == kAuto || find(*kind, name) != nullptr) return std::nullopt;
  std::vector<std::string_view> known = algorithm_names(*kind);
  known.insert(known.begin(), kAuto);
  return UnknownName{.word = name, .kind = kind, .known = std::move(known)};
}

// A part of a word that people can read: the text may come from anywhere.
std::string printable(std::string_view word) {
  constexpr std::size_t kLongest = 80;
  std::string text(word.substr(0, kLongest));
  for (char& letter : text) {
    if (letter < ' ' || letter > '~') letter = '?';
  }
  return word.size() > kLongest ? text + "..." : text;
}

double parse_number(std::string_view name, std::string_view text) {
  double value = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value) ||
      value < 0.0) {
    throw Error(ErrorCode::config, fmt::format("{} is \"{}\", which is no number of 0 or more",
                                               name, printable(text)));
  }
  return value;
}

}  // namespace

std::string UnknownName::describe() const {
  const std::string shown = printable(word);
  if (is_kind) {
    return fmt::format("there is no collective \"{}\" to choose an algorithm for; there are {}",
                       shown, fmt::join(known, ", "));
  }
  if (kind) {
    return fmt::format("{} has no algorithm \"{}\"; it has {}", to_string(*kind), shown,
                       fmt::join(known, ", "));
  }
  return fmt::format("no collective has an algorithm \"{}\"; there are {}", shown,
                     fmt::join(known, ", "));
}

std::vector<std::string_view> algorithm_names(CallKind kind) {
  std::vector<std::string_view> names;
  for (const Algorithm& algorithm : all_algorithms()) {
    if (algorithm.kind == kind) names.push_back(algorithm.name);
  }
  return names;
}

std::optional<UnknownName> AlgorithmTable::find_unknown(std::string_view text) {
  while (!text.empty()) {
    if (auto unknown = unknown_in_entry(split_off(text, ';'))) return unknown;
  }
  return std::nullopt;
}

void AlgorithmTable::use(std::string_view text) {
  if (const auto unknown = find_unknown(text)) {
    throw Error(ErrorCode::config, unknown->describe());
  }
  while (!text.empty()) use_entry(split_off(text, ';'));
}

void AlgorithmTable::use_entry(std::string_view name) {
  if (name.find('=') == std::string_view::npos) return use_for_all(name);
  const std::string_view kind_name = split_off(name, '=');
  const CallKind kind = parse_kind(kind_name).value();
  if (name == kAuto) {
    named_.erase(kind);
  } else {
    named_[kind] = find(kind, name);
  }
}

void AlgorithmTable::use_for_all(std::string_view name) {
  if (name == kAuto) return named_.clear();
  for (const Algorithm& algorithm : all_algorithms()) {
    if (algorithm.name == name) named_[algorithm.kind] = &algorithm;
  }
}

std::string_view AlgorithmTable::named(CallKind kind) const {
  const auto found = named_.find(kind);
  return found == named_.end() ? std::string_view() : found->second->name;
}

std::string AlgorithmTable::names() const {
  std::string text;
  for (const auto& [kind, algorithm] : named_) {
    text += fmt::format("{}{}={}", text.empty() ? "" : ";", to_string(kind), algorithm->name);
  }
  return text.empty() ? std::string(kAuto) : text;
}

const Algorithm& AlgorithmTable::choose(CallKind kind, std::size_t bytes, int size) const {
  const auto named = named_.find(kind);
  if (named != named_.end()) return *named->second;
  const Algorithm* best = nullptr;
  double least = std::numeric_limits<double>::infinity();
  for (const Algorithm& algorithm : all_algorithms()) {
    if (algorithm.kind != kind || !algorithm.keeps_rank_order) continue;
    const double cost = algorithm.cost(profile_, static_cast<double>(bytes), size);
    if (best != nullptr && !(cost < least)) continue;
    best = &algorithm;
    least = cost;
  }
  MUSTER_ASSERT(best != nullptr);
  return *best;
}

std::string AlgorithmTable::to_text() const {
  std::string text;
  for (const ProfileField& field : kProfileFields) {
    text += fmt::format("{}{}={}", text.empty() ? "" : ";", field.name, profile_.*field.value);
  }
  if (!named_.empty()) text += fmt::format(";{}", names());
  return text;
}

AlgorithmTable AlgorithmTable::parse(std::string_view text) {
  LinkProfile profile;
  for (const ProfileField& field : kProfileFields) {
    std::string_view value = split_off(text, ';');
    const std::string_view name = split_off(value, '=');
    if (name != field.name) {
      throw Error(ErrorCode::config,
                  fmt::format("a table of algorithms has \"{}\" where {} is to stand",
                              printable(name), field.name));
    }
    profile.*field.value = parse_number(name, value);
  }
  AlgorithmTable table(profile);
  table.use(text);
  return table;
}

}  // namespace muster::collectives
