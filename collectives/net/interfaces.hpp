#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace muster::collectives {

/// One numeric address of a network interface that is up.
struct Interface {
  std::string name;
  std::string address;  // IPv4 or global IPv6
};

/// Addresses of the interfaces that are up, IPv4 first, link-local ones left out.
std::vector<Interface> list_interfaces();

/// The interface that peers on other hosts should use. `wish`: a name or a numeric address, taken
/// exactly; empty: the first that is neither loopback nor one of a container or virtual machine
/// (docker, br-, veth, virbr, cni, flannel, cali, lxc). Error(config) lists what there is.
Interface choose_interface(std::string_view wish);

/// The same among given ones.
Interface choose_interface(std::string_view wish, const std::vector<Interface>& there);

}  // namespace muster::collectives
