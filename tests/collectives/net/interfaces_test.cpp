#include "collectives/net/interfaces.hpp"

#include <algorithm>
#include <string>
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

TEST(ChooseInterface, RefusesWhenNothingLeadsOutside) {
  const std::string text = error_text(ErrorCode::config, [] {
    choose_interface("", {{"lo", "127.0.0.1"}, {"br-1", "10.0.0.1"}});
  });

  EXPECT_NE(text.find("br-1 (10.0.0.1)"), std::string::npos) << text;
}

TEST(ListInterfaces, FindsTheLoopback) {
  const std::vector<Interface> there = list_interfaces();

  EXPECT_TRUE(std::ranges::any_of(
      there, [](const Interface& interface) { return interface.address == "127.0.0.1"; }));
}

}  // namespace
}  // namespace muster::collectives
