#include "collectives/bootstrap/ticket.hpp"

#include <array>
#include <cstddef>

#include <fmt/format.h>

#include "kernels/base/error.hpp"

namespace muster::collectives {
namespace {

/// Text of the line that begins with `name` and a space.
std::string_view line_of(std::string_view text, std::string_view name, std::string_view what) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    if (line.starts_with(name) && line.substr(name.size()).starts_with(' ')) {
      return line.substr(name.size() + 1);
    }
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  }
  throw Error(ErrorCode::config, fmt::format("{} has no line \"{}\"", what, name));
}

}  // namespace

std::string encode(const Ticket& ticket) {
  return fmt::format("store {}\nsecret {}\njob {}\n", to_string(ticket.store),
                     ticket.secret.to_hex(), ticket.job_id);
}

Ticket decode_ticket(std::string_view text, std::string_view what) {
  return {parse_endpoint(line_of(text, "store", what), fmt::format("the store in {}", what)),
          Secret::from_hex(line_of(text, "secret", what), fmt::format("the secret in {}", what)),
          std::string(line_of(text, "job", what))};
}

std::string random_job_id() {
  std::array<std::byte, 4> bytes{};
  fill_random(bytes);
  std::string id;
  for (const std::byte byte : bytes) id += fmt::format("{:02x}", std::to_integer<int>(byte));
  return id;
}

}  // namespace muster::collectives
