#include "runtime/world/environment.hpp"

#include <charconv>
#include <system_error>

#include <fmt/format.h>
#include <unistd.h>

#include "kernels/base/error.hpp"

namespace muster::runtime {

Environment Environment::current() {
  Variables variables;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    variables.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return Environment(std::move(variables));
}

std::optional<std::string> Environment::find(std::string_view name) const {
  const auto found = variables_.find(name);
  if (found == variables_.end() || found->second.empty()) return std::nullopt;
  return found->second;
}

std::string Environment::find_or(std::string_view name, std::string_view otherwise) const {
  return find(name).value_or(std::string(otherwise));
}

std::optional<int> Environment::number(std::string_view name) const {
  const auto text = find(name);
  if (!text) return std::nullopt;
  int value = 0;
  const char* const end = text->data() + text->size();
  const auto [stop, error] = std::from_chars(text->data(), end, value);
  if (error != std::errc() || stop != end) {
    throw Error(ErrorCode::config,
                fmt::format("{} is \"{}\": it must be a whole number", name, *text));
  }
  return value;
}

}  // namespace muster::runtime
