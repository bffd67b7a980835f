#include "collectives/net/resolve.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster::collectives {
namespace {

using testing::ElementsAre;

Tcp::endpoint at(const char* address) {
  return {asio::ip::make_address(address), 29500};
}

std::vector<std::string> served(const std::string& host, const std::vector<Tcp::endpoint>& found) {
  const std::vector<Interface> there = {
      {"lo", "127.0.0.1"}, {"eth0", "10.0.0.7"}, {"lo", "::1"}, {"eth0", "fd00::7"}};
  std::vector<std::string> all;
  for (const Tcp::endpoint& address : addresses_to_serve({host, 29500}, found, there)) {
    all.push_back(to_string(address));
  }
  return all;
}

TEST(AddressesToServe, OfANameThatLeadsHomeAreThoseOfTheHostToo) {
  EXPECT_THAT(served("node1", {at("127.0.1.1")}),
              ElementsAre("127.0.1.1:29500", "10.0.0.7:29500", "[fd00::7]:29500"));
}

TEST(AddressesToServe, AreTakenAsTheyAreMeant) {
  EXPECT_THAT(served("node1", {at("10.0.0.7")}), ElementsAre("10.0.0.7:29500"));
  EXPECT_THAT(served("node1", {at("127.0.1.1"), at("10.0.0.7")}),
              ElementsAre("127.0.1.1:29500", "10.0.0.7:29500"));
  EXPECT_THAT(served("localhost", {at("::1"), at("127.0.0.1")}),
              ElementsAre("[::1]:29500", "127.0.0.1:29500"));
  EXPECT_THAT(served("127.0.0.1", {at("127.0.0.1")}), ElementsAre("127.0.0.1:29500"));
  EXPECT_THAT(served("::1", {at("::1")}), ElementsAre("[::1]:29500"));
}

}  // namespace
}  // namespace muster::collectives
