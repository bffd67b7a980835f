#include "collectives/net/interfaces.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <iterator>
#include <memory>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include "collectives/net/fd.hpp"
#include "kernels/base/error.hpp"

namespace muster::collectives {
namespace {

constexpr std::array<std::string_view, 8> kVirtual = {"docker", "br-",     "veth", "virbr",
                                                      "cni",    "flannel", "cali", "lxc"};

bool is_for_peers(const Interface& interface) {
  return !is_loopback(interface.address) &&
         std::ranges::none_of(
             kVirtual, [&](std::string_view prefix) { return interface.name.starts_with(prefix); });
}

/// Numeric text of the address, or empty for what is neither IPv4 nor global IPv6.
std::string address_text(const sockaddr& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (address.sa_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
    ::inet_ntop(AF_INET, &v4.sin_addr, text.data(), text.size());
  } else if (address.sa_family == AF_INET6) {
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address);
    if (!IN6_IS_ADDR_LINKLOCAL(&v6.sin6_addr)) {
      ::inet_ntop(AF_INET6, &v6.sin6_addr, text.data(), text.size());
    }
  }
  return text.data();
}

std::string describe(const std::vector<Interface>& interfaces) {
  std::string text;
  for (const Interface& interface : interfaces) {
    text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", interface.name, interface.address);
  }
  return text.empty() ? "none" : text;
}

/// The bits of a numeric address, 4 or 16 bytes; empty if the text is none.
std::vector<unsigned char> address_bytes(std::string_view text) {
  const std::string whole(text);
  std::vector<unsigned char> bytes(sizeof(in6_addr));
  if (::inet_pton(AF_INET6, whole.c_str(), bytes.data()) == 1) return bytes;
  bytes.resize(sizeof(in_addr));
  if (::inet_pton(AF_INET, whole.c_str(), bytes.data()) == 1) return bytes;
  return {};
}

/// One item of a list of interfaces: a name, or a network, of which an address is the smallest.
struct Pattern {
  std::string_view text;
  std::vector<unsigned char> network = {};  // empty: the text is a name
  std::size_t bits = 0;
  bool has_mask = false;

  bool matches(const Interface& interface) const {
    if (network.empty()) return interface.name == text;
    const std::vector<unsigned char> address = address_bytes(interface.address);
    if (address.size() != network.size()) return false;
    for (std::size_t bit = 0; bit < bits; ++bit) {
      const unsigned mask = 0x80U >> (bit % 8);
      if (((address[bit / 8] ^ network[bit / 8]) & mask) != 0) return false;
    }
    return true;
  }
};

Pattern parse_pattern(std::string_view item, std::string_view wish) {
  const std::size_t slash = item.find('/');
  Pattern pattern{.text = item, .network = address_bytes(item.substr(0, slash))};
  pattern.bits = 8 * pattern.network.size();
  if (slash == std::string_view::npos && !item.empty()) return pattern;
  pattern.has_mask = true;
  std::size_t bits = 0;
  const std::string_view digits = item.empty() ? item : item.substr(slash + 1);
  const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), bits);
  const bool is_sound = error == std::errc() && stop == digits.data() + digits.size() &&
                        !pattern.network.empty() && bits <= pattern.bits;
  if (!is_sound) {
    throw Error(ErrorCode::config,
                fmt::format("MUSTER_INTERFACE is \"{}\": \"{}\" is neither a name, an address, nor "
                            "a network like 10.0.0.0/8",
                            wish, item));
  }
  pattern.bits = bits;
  return pattern;
}

std::vector<Pattern> parse_list(std::string_view list, std::string_view wish) {
  std::vector<Pattern> patterns;
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    patterns.push_back(parse_pattern(list.substr(begin, end - begin), wish));
    begin = end + 1;
  }
  return patterns;
}

std::vector<Interface> choose_listed(std::string_view wish, const std::vector<Interface>& there) {
  std::vector<Interface> chosen;
  for (const Pattern& pattern : parse_list(wish, wish)) {
    const std::size_t before = chosen.size();
    std::ranges::copy_if(there, std::back_inserter(chosen),
                         [&](const Interface& interface) { return pattern.matches(interface); });
    if (chosen.size() > before || pattern.has_mask) continue;
    const bool exists = ::if_nametoindex(std::string(pattern.text).c_str()) != 0;
    const std::string_view problem = exists ? "an interface that is down or has no address is"
                                            : "no interface has the name or address";
    throw Error(ErrorCode::config,
                fmt::format("MUSTER_INTERFACE is \"{}\": {} \"{}\"; there are: {}", wish, problem,
                            pattern.text, describe(there)));
  }
  return chosen;
}

}  // namespace

std::vector<Interface> list_interfaces() {
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) {
    throw Error(ErrorCode::io,
                fmt::format("cannot list network interfaces: {}", errno_text(errno)));
  }
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> all(first, &::freeifaddrs);
  std::vector<Interface> there;
  std::vector<Interface> version_6;
  for (const ifaddrs* entry = all.get(); entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr || (entry->ifa_flags & IFF_UP) == 0) continue;
    std::string address = address_text(*entry->ifa_addr);
    if (address.empty()) continue;
    const bool is_version_6 = address.find(':') != std::string::npos;
    (is_version_6 ? version_6 : there).push_back({entry->ifa_name, std::move(address)});
  }
  there.insert(there.end(), version_6.begin(), version_6.end());
  return there;
}

std::vector<Interface> choose_interfaces(std::string_view wish,
                                         const std::vector<Interface>& there) {
  std::vector<Interface> chosen;
  if (wish.empty()) {
    std::ranges::copy_if(there, std::back_inserter(chosen), is_for_peers);
  } else if (wish.front() == '^') {
    const std::vector<Pattern> unwanted = parse_list(wish.substr(1), wish);
    std::ranges::copy_if(there, std::back_inserter(chosen), [&](const Interface& interface) {
      return std::ranges::none_of(unwanted,
                                  [&](const Pattern& one) { return one.matches(interface); });
    });
  } else {
    chosen = choose_listed(wish, there);
  }
  if (!chosen.empty()) return chosen;
  throw Error(ErrorCode::config,
              wish.empty()
                  ? fmt::format("no network interface for peers on other hosts; there are: {}; "
                                "name one with MUSTER_INTERFACE",
                                describe(there))
                  : fmt::format("MUSTER_INTERFACE is \"{}\": this leaves no interface; there are: "
                                "{}",
                                wish, describe(there)));
}

Interface choose_interface(std::string_view wish, const std::vector<Interface>& there) {
  return choose_interfaces(wish, there).front();
}

Interface choose_interface(std::string_view wish) {
  return choose_interface(wish, list_interfaces());
}

bool is_loopback(std::string_view address) {
  return address.starts_with("127.") || address == "::1";
}

}  // namespace muster::collectives
