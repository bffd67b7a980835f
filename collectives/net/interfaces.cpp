#include "collectives/net/interfaces.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
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
  const bool is_loopback = interface.address.starts_with("127.") || interface.address == "::1";
  return !is_loopback && std::ranges::none_of(kVirtual, [&](std::string_view prefix) {
    return interface.name.starts_with(prefix);
  });
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

}  // namespace

std::vector<Interface> list_interfaces() {
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) {
    throw Error(ErrorCode::io,
                fmt::format("cannot list network interfaces: {}", errno_text(errno)));
  }
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> all(first, &::freeifaddrs);
  std::vector<Interface> there;
  for (const ifaddrs* entry = all.get(); entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr || (entry->ifa_flags & IFF_UP) == 0) continue;
    std::string address = address_text(*entry->ifa_addr);
    if (!address.empty()) there.push_back({entry->ifa_name, std::move(address)});
  }
  std::stable_partition(there.begin(), there.end(), [](const Interface& interface) {
    return interface.address.find(':') == std::string::npos;
  });
  return there;
}

Interface choose_interface(std::string_view wish, const std::vector<Interface>& there) {
  const auto chosen = std::ranges::find_if(there, [&](const Interface& interface) {
    return wish.empty() ? is_for_peers(interface)
                        : interface.name == wish || interface.address == wish;
  });
  if (chosen != there.end()) return *chosen;
  throw Error(
      ErrorCode::config,
      wish.empty()
          ? fmt::format("no network interface for peers on other hosts; there are: {}; name "
                        "one with MUSTER_INTERFACE",
                        describe(there))
          : fmt::format("MUSTER_INTERFACE is \"{}\": no interface has that name or address; "
                        "there are: {}",
                        wish, describe(there)));
}

Interface choose_interface(std::string_view wish) {
  return choose_interface(wish, list_interfaces());
}

}  // namespace muster::collectives
