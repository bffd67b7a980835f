#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace muster::runtime {

/// A copy of a process's environment variables; an empty value counts as not set.
class Environment {
 public:
  using Variables = std::map<std::string, std::string, std::less<>>;

  /// Of this process.
  static Environment current();

  explicit Environment(Variables variables) : variables_(std::move(variables)) {}

  bool has(std::string_view name) const { return find(name).has_value(); }
  std::optional<std::string> find(std::string_view name) const;
  std::string find_or(std::string_view name, std::string_view otherwise) const;
  /// A whole number, or nullopt when not set. Error(config) names variable and value.
  std::optional<int> number(std::string_view name) const;

 private:
  Variables variables_;
};

}  // namespace muster::runtime
