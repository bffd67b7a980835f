#include "runtime/config/findings.hpp"

#include <algorithm>
#include <limits>
#include <tuple>

#include <fmt/format.h>

#include "kernels/base/error.hpp"
#include "runtime/config/names.hpp"

namespace muster::runtime {

Origin Findings::in_file(std::size_t line, std::size_t column) const {
  return {fmt::format("{}:{}:{}", file_, line, column), line, column};
}

Origin Findings::in_override(const std::string& text) {
  const std::size_t behind = std::numeric_limits<std::size_t>::max();
  return {"--set " + text, behind, 0};
}

Origin Findings::origin_of(const std::string& name) const {
  if (const auto key = given_.find(name); key != given_.end()) return key->second;
  const auto section = given_.find(name.substr(0, name.find('.')));
  return section != given_.end() ? section->second : in_file(1, 1);
}

void Findings::add(const std::string& name, const Origin& origin, std::string_view text) {
  bad_.insert(name);
  add_line(origin, fmt::format("key {} {}", quote(name), text));
}

void Findings::add_line(const Origin& origin, std::string text) {
  mistakes_.push_back({origin, std::move(text)});
}

bool Findings::are_good(std::initializer_list<std::string_view> names) const {
  return std::ranges::none_of(names, [&](std::string_view name) { return bad_.contains(name); });
}

void Findings::throw_if_any() const {
  if (mistakes_.empty()) return;
  std::vector<Mistake> sorted = mistakes_;
  std::ranges::stable_sort(sorted, {}, [](const Mistake& mistake) {
    return std::make_tuple(mistake.origin.line, mistake.origin.column);
  });
  std::string text = fmt::format("{} mistake{} in {} {}", sorted.size(),
                                 sorted.size() == 1 ? "" : "s", kind_, file_);
  for (const Mistake& mistake : sorted) {
    text += fmt::format("\n{}: {}", mistake.origin.place, mistake.text);
  }
  throw Error(ErrorCode::config, text);
}

}  // namespace muster::runtime
