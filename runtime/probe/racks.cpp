#include "runtime/probe/racks.hpp"

#include <sstream>

#include <fmt/format.h>

#include "kernels/base/error.hpp"

namespace muster::runtime {

std::map<std::string, std::string> parse_racks(std::string_view text, const std::string& file) {
  std::map<std::string, std::string> racks;
  std::istringstream lines{std::string(text)};
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    std::istringstream words(line);
    std::string host;
    std::string rack;
    std::string more;
    if (!(words >> host) || host.front() == '#') continue;
    words >> rack;
    if (rack.empty() || words >> more) {
      throw Error(ErrorCode::config,
                  fmt::format("{}:{}: \"{}\" is not HOST RACK, two words", file, number, line));
    }
    if (!racks.emplace(host, rack).second) {
      throw Error(ErrorCode::config,
                  fmt::format("{}:{}: host {} has a rack already", file, number, host));
    }
  }
  return racks;
}

}  // namespace muster::runtime
