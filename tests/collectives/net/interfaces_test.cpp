#include "collectives/net/interfaces.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/error_text.hpp"

namespace muster::collectives {
namespace {

const std::vector<Interface> kThere = {{"lo", "127.0.0.1"},      {"docker0", "172.17.0.1"},
                                       {"veth1a2b", "10.1.0.1"}, {"bond0.100", "10.2.0.1"},
                                       {"bond0", "10.3.0.1"},    {"lo", "::1"},
                                       {"bond0", "fd01::1"}};

TEST(ChooseInterface, SkipsLoopbackAndVirtualOnes) {
  EXPECT_EQ(choose_interface("", kThere).address, "10.2.0.1");
}

TEST(ChooseInterface, TakesNamesExactly) {
  EXPECT_EQ(choose_interface("bond0", kThere).address, "10.3.0.1");
  EXPECT_EQ(choose_interface("docker0", kThere).address, "172.17.0.1");
}

TEST(ChooseInterface, TakesAddresses) {
  EXPECT_EQ(choose_interface("fd01::1", kThere).name, "bond0");
}

TEST(ChooseInterface, ListsWhatThereIsWhenTheNameIsUnknown) {
  const std::string text = error_text(ErrorCode::config, [] { choose_interface("bond", kThere); });

  EXPECT_NE(text.find("MUSTER_INTERFACE is \"bond\""), std::string::npos) << text;
  EXPECT_NE(text.find("bond0.100 (10.2.0.1)"), std::string::npos) << text;
}

TEST(ChooseInterface, TellsAnInterfaceThatIsDownFromOneThatIsNot) {
  const std::string text = error_text(ErrorCode::config, [] {
    choose_interface("lo", {{"bond0", "10.3.0.1"}});
  });

  EXPECT_NE(text.find("an interface that is down or has no address is \"lo\""), std::string::npos)
      << text;
}

TEST(ChooseInterface, RefusesWhenNothingLeadsOutside) {
  const std::string text = error_text(ErrorCode::config, [] {
    choose_interface("", {{"lo", "127.0.0.1"}, {"br-1", "10.0.0.1"}});
  });

  EXPECT_NE(text.find("br-1 (10.0.0.1)"), std::string::npos) << text;
}

std::vector<std::string> chosen_addresses(std::string_view wish) {
  std::vector<std::string> addresses;
  for (const Interface& interface : choose_interfaces(wish, kThere)) {
    addresses.push_back(interface.address);
  }
  return addresses;
}

using Addresses = std::vector<std::string>;

TEST(ChooseInterfaces, TakesEveryOneForPeersWithoutAWish) {
  EXPECT_EQ(chosen_addresses(""), (Addresses{"10.2.0.1", "10.3.0.1", "fd01::1"}));
}

TEST(ChooseInterfaces, TakesAListInItsOrder) {
  EXPECT_EQ(chosen_addresses("bond0,docker0"), (Addresses{"10.3.0.1", "fd01::1", "172.17.0.1"}));
}

TEST(ChooseInterfaces, LeavesOutWhatFollowsACaret) {
  EXPECT_EQ(chosen_addresses("^docker0,lo,fd00::/8,eth7"),
            (Addresses{"10.1.0.1", "10.2.0.1", "10.3.0.1"}));
}

TEST(ChooseInterfaces, TakesNetworks) {
  EXPECT_EQ(chosen_addresses("10.2.0.0/15"), (Addresses{"10.2.0.1", "10.3.0.1"}));
  EXPECT_EQ(chosen_addresses("fd00::/8"), (Addresses{"fd01::1"}));
  EXPECT_EQ(chosen_addresses("10.2.0.1/32"), (Addresses{"10.2.0.1"}));
  EXPECT_EQ(chosen_addresses("0.0.0.0/0").size(), 5U);
}

TEST(ChooseInterfaces, ListsWhatThereIsWhenNothingIsLeft) {
  for (const char* wish : {"192.168.0.0/16", "^0.0.0.0/0,::/0"}) {
    const std::string text =
        error_text(ErrorCode::config, [&] { choose_interfaces(wish, kThere); });

    EXPECT_NE(text.find("bond0.100 (10.2.0.1)"), std::string::npos) << text;
  }
}

TEST(ChooseInterfaces, RefusesAListWithOneUnknownName) {
  const std::string text =
      error_text(ErrorCode::config, [] { choose_interfaces("bond0,ib0", kThere); });

  EXPECT_NE(text.find("the name or address \"ib0\""), std::string::npos) << text;
}

TEST(ChooseInterfaces, RefusesWhatIsNoNetwork) {
  for (const char* wish :
       {"10.0.0.0/33", "10.0.0.0/", "eth0/8", "fd00::/129", "a,,b", "^", "1/-1", "10.0.0.0/8x"}) {
    const std::string text =
        error_text(ErrorCode::config, [&] { choose_interfaces(wish, kThere); });

    EXPECT_NE(text.find("network like 10.0.0.0/8"), std::string::npos) << wish << ": " << text;
  }
}

TEST(ListInterfaces, FindsTheLoopback) {
  const std::vector<Interface> there = list_interfaces();

  EXPECT_TRUE(std::ranges::any_of(
      there, [](const Interface& interface) { return interface.address == "127.0.0.1"; }));
}

}  // namespace
}  // namespace muster::collectives
