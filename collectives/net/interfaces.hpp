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

/// The interfaces that peers on other hosts may use, in order of preference.
///
/// `wish` is a list, separated by commas, of names (taken exactly), numeric addresses and networks
/// ("10.0.0.0/8", "fd00::/8"): what matches is chosen, in the order of the list. With ^ in front
/// ("^docker0,lo") what matches is left out and the rest is taken. Empty: all that are neither
/// loopback nor of a container or virtual machine (docker, br-, veth, virbr, cni, flannel, cali,
/// lxc).
///
/// Error(config) lists what there is, where a name or an address to choose is not there or nothing
/// is left. Names to leave out need not exist.
std::vector<Interface> choose_interfaces(std::string_view wish,
                                         const std::vector<Interface>& there);

/// The first of them.
Interface choose_interface(std::string_view wish);

/// The same among given ones.
Interface choose_interface(std::string_view wish, const std::vector<Interface>& there);

/// An address of this host alone: 127.0.0.0/8, ::1.
bool is_loopback(std::string_view address);

}  // namespace muster::collectives
