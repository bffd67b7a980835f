#include "collectives/net/endpoint.hpp"

#include <string>

#include <gtest/gtest.h>

#include "kernels/base/error.hpp"

namespace muster::collectives {
namespace {

struct Good {
  std::string text;
  Endpoint endpoint;
};

class ParseEndpoint : public testing::TestWithParam<Good> {};

TEST_P(ParseEndpoint, ReadsHostAndPortAndWritesThemBack) {
  const Endpoint endpoint = parse_endpoint(GetParam().text, "the store");

  EXPECT_EQ(endpoint, GetParam().endpoint);
  EXPECT_EQ(to_string(endpoint), GetParam().text);
}

INSTANTIATE_TEST_SUITE_P(Forms, ParseEndpoint,
                         testing::Values(Good{"localhost:0", {"localhost", 0}},
                                         Good{"127.0.0.1:29500", {"127.0.0.1", 29500}},
                                         Good{"a.example.org:65535", {"a.example.org", 65535}},
                                         Good{"[fd01::1]:2222", {"fd01::1", 2222}},
                                         Good{"[fe80::1%v0]:1", {"fe80::1%v0", 1}}));

class RefuseEndpoint : public testing::TestWithParam<std::string> {};

TEST_P(RefuseEndpoint, NamesWhereItCameFromAndTheText) {
  try {
    parse_endpoint(GetParam(), "the store");
    FAIL() << "accepted";
  } catch (const Error& error) {
    const std::string text = error.what();
    EXPECT_EQ(error.code(), ErrorCode::config);
    EXPECT_NE(text.find("the store"), std::string::npos) << text;
  }
}

INSTANTIATE_TEST_SUITE_P(Forms, RefuseEndpoint,
                         testing::Values("", "host", ":1", "host:", "host:65536", "host:-1",
                                         "host:1x", "host: 1", "fd01::1:2222", "[fd01::1:2222",
                                         "[]:1", "host:99999999999999999999"));

}  // namespace
}  // namespace muster::collectives
