#pragma once

#include <map>
#include <string>
#include <string_view>

namespace muster::runtime {

/// Racks by host name, from lines "HOST RACK"; empty lines and those that begin with # say nothing.
/// Error(config) names file and line of one with another number of words, or a host given twice.
std::map<std::string, std::string> parse_racks(std::string_view text, const std::string& file);

}  // namespace muster::runtime
