#pragma once

#include <string>
#include <string_view>

namespace muster::runtime {

/// A text as a TOML string on one line, in quotes; whatever could end it is escaped. The text is
/// UTF-8.
std::string toml_string(std::string_view text);

}  // namespace muster::runtime
