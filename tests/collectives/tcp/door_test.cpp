#include "collectives/tcp/door.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/error_text.hpp"

namespace muster::collectives::tcp {
namespace {

const std::vector<Interface> kThere = {{"lo", "127.0.0.1"},
                                       {"docker0", "172.17.0.1"},
                                       {"eth0", "10.2.0.1"},
                                       {"lo", "::1"},
                                       {"eth0", "fd01::1"}};

std::vector<std::string> doors(std::string_view wish, bool is_one_host) {
  std::vector<std::string> addresses;
  for (const Interface& chosen : choose_doors(wish, is_one_host, kThere)) {
    addresses.push_back(chosen.address);
  }
  return addresses;
}

using Addresses = std::vector<std::string>;

TEST(Door, IsReadAsItWasWritten) {
  const Door door{4711, "node-3", {{"10.0.0.2", 29500}, {"fd01::1", 1}}};

  EXPECT_EQ(encode(door), "4711 node-3 10.0.0.2:29500 [fd01::1]:1");
  EXPECT_EQ(decode_door(encode(door), "rank 1"), door);
}

TEST(Door, SaysWhetherItsConnectionsAreEncrypted) {
  const Door door{4711, "node-3", {{"10.0.0.2", 29500}}, true};

  EXPECT_EQ(encode(door), "4711 node-3 encrypted 10.0.0.2:29500");
  EXPECT_EQ(decode_door(encode(door), "rank 1"), door);
}

TEST(Door, RefusesWhatIsNone) {
  for (const char* line : {"", "x", "4711", "4711 host", "4711 host node-3:29500",
                           "4711 host 10.0.0.2:0", "0 host 10.0.0.2:1"}) {
    const std::string text = error_text(ErrorCode::io, [&] { decode_door(line, "rank 1"); });
    EXPECT_NE(text.find("rank 1 published"), std::string::npos) << text;
  }
}

TEST(ChooseDoors, TakesLoopbackAloneInsideAHost) {
  EXPECT_EQ(doors("", true), (Addresses{"127.0.0.1"}));
}

TEST(ChooseDoors, TakesWhatWasWishedForInsideAHost) {
  EXPECT_EQ(doors("::1", true), (Addresses{"::1"}));
  EXPECT_EQ(doors("eth0", true), (Addresses{"10.2.0.1", "fd01::1"}));
}

TEST(ChooseDoors, LeavesLoopbackOutBetweenHosts) {
  EXPECT_EQ(doors("", false), (Addresses{"10.2.0.1", "fd01::1"}));
  EXPECT_EQ(doors("^docker0", false), (Addresses{"10.2.0.1", "fd01::1"}));
}

TEST(ChooseDoors, RefusesLoopbackAloneBetweenHosts) {
  const std::string text = error_text(ErrorCode::config, [] { doors("lo", false); });

  EXPECT_NE(text.find("leaves only loopback"), std::string::npos) << text;
}

}  // namespace
}  // namespace muster::collectives::tcp
