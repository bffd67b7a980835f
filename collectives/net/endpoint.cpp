#include "collectives/net/endpoint.hpp"

#include <charconv>
#include <system_error>

#include <fmt/format.h>

#include "kernels/base/error.hpp"

namespace muster::collectives {
namespace {

[[noreturn]] void refuse(std::string_view text, std::string_view what, std::string_view problem) {
  throw Error(ErrorCode::config,
              fmt::format("{} is \"{}\": {}; expected host:port, or [address]:port for IPv6", what,
                          text, problem));
}

}  // namespace

std::string to_string(const Endpoint& endpoint) {
  const bool is_v6 = endpoint.host.find(':') != std::string::npos;
  return is_v6 ? fmt::format("[{}]:{}", endpoint.host, endpoint.port)
               : fmt::format("{}:{}", endpoint.host, endpoint.port);
}

std::uint16_t parse_port(std::string_view text, std::string_view what) {
  unsigned value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || value > 65535) {
    throw Error(ErrorCode::config,
                fmt::format("{} is \"{}\": a port is a number from 0 to 65535", what, text));
  }
  return static_cast<std::uint16_t>(value);
}

Endpoint parse_endpoint(std::string_view text, std::string_view what) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) refuse(text, what, "no port");
  std::string_view host = text.substr(0, colon);
  if (!host.empty() && host.front() == '[') {
    if (host.size() < 3 || host.back() != ']') refuse(text, what, "the brackets are not closed");
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string_view::npos) {
    refuse(text, what, "an IPv6 address without brackets");
  }
  if (host.empty()) refuse(text, what, "no host");
  return {std::string(host), parse_port(text.substr(colon + 1), what)};
}

}  // namespace muster::collectives
