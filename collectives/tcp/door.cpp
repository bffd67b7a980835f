#include "collectives/tcp/door.hpp"

#include <algorithm>
#include <sstream>

#include <fmt/format.h>

#include "collectives/net/asio.hpp"
#include "kernels/base/error.hpp"

namespace muster::collectives::tcp {
namespace {

constexpr std::size_t kMostEndpoints = 32;
constexpr std::string_view kEncrypted = " encrypted";

bool is_sound(const Endpoint& endpoint) {
  ErrorStatus status;
  asio::ip::make_address(endpoint.host, status);
  return !status && endpoint.port != 0;
}

}  // namespace

std::string encode(const Door& door) {
  std::string line =
      fmt::format("{} {}{}", door.pid, door.host, door.is_encrypted ? kEncrypted : "");
  for (const Endpoint& endpoint : door.endpoints) line += fmt::format(" {}", to_string(endpoint));
  return line;
}

Door decode_door(std::string_view line, std::string_view from) {
  std::istringstream words{std::string(line)};
  Door door;
  words >> door.pid >> door.host;
  bool is_valid = !words.fail() && door.pid > 0;
  for (std::string word; is_valid && words >> word;) {
    if (door.endpoints.empty() && !door.is_encrypted && word == kEncrypted.substr(1)) {
      door.is_encrypted = true;
      continue;
    }
    door.endpoints.push_back(parse_endpoint(word, fmt::format("the address of {}", from)));
    is_valid = is_sound(door.endpoints.back()) && door.endpoints.size() <= kMostEndpoints;
  }
  if (is_valid && !door.endpoints.empty()) return door;
  throw Error(ErrorCode::io, fmt::format("{} published \"{}\", which is no list of addresses; do "
                                         "all ranks run the same build?",
                                         from, line.substr(0, 200)));
}

std::vector<Interface> choose_doors(std::string_view wish, bool is_one_host,
                                    const std::vector<Interface>& there) {
  const auto leads_home = [](const Interface& interface) { return is_loopback(interface.address); };
  std::vector<Interface> chosen;
  if (wish.empty() && is_one_host) {
    const auto loopback = std::ranges::find_if(there, leads_home);
    if (loopback != there.end()) return {*loopback};
  }
  chosen = choose_interfaces(wish, there);
  if (is_one_host) return chosen;
  std::erase_if(chosen, leads_home);
  if (!chosen.empty()) return chosen;
  throw Error(
      ErrorCode::config,
      fmt::format("MUSTER_INTERFACE is \"{}\", which leaves only loopback, but the ranks are "
                  "on several hosts; name an interface that leads to the others",
                  wish));
}

}  // namespace muster::collectives::tcp
