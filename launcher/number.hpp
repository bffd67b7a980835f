#pragma once

#include <charconv>
#include <string_view>

#include <fmt/format.h>

#include "kernels/base/error.hpp"
#include "runtime/config/names.hpp"

namespace muster::launcher {

/// Reads all of `text` as a number from `least` to `most`; Error(config) names option and limits.
template <typename Number>
Number read_number(std::string_view option, std::string_view text, Number least, Number most) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_number = error == std::errc{} && end == text.data() + text.size();
  if (!is_number || !(number >= least && number <= most)) {
    throw Error(ErrorCode::config, fmt::format("{} {}: allowed is {} to {}", option,
                                               runtime::quote(text), least, most));
  }
  return number;
}

}  // namespace muster::launcher
