#include "collectives/bootstrap/store_protocol.hpp"

#include <limits>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "kernels/base/error.hpp"

namespace muster::collectives {
namespace {

using Bytes = std::vector<std::byte>;

class Request : public testing::TestWithParam<StoreRequest> {};

TEST_P(Request, SurvivesEncoding) {
  const StoreRequest& sent = GetParam();

  const StoreRequest received = decode_request(encode(sent));

  EXPECT_EQ(received.op, sent.op);
  EXPECT_EQ(received.key, sent.key);
  EXPECT_EQ(received.value, sent.value);
  EXPECT_EQ(received.number, sent.number);
}

TEST_P(Request, IsRefusedWhenCutAnywhereBeforeItsEnd) {
  const Bytes whole = encode(GetParam());
  // A set's value may be of any length, so only cuts inside its head are visible.
  const std::size_t head = GetParam().op == StoreOp::set ? 3 + GetParam().key.size() : whole.size();

  for (std::size_t bytes = 0; bytes < head; ++bytes) {
    EXPECT_THROW(decode_request(std::span(whole).first(bytes)), Error) << bytes << " bytes";
  }
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, Request,
    testing::Values(StoreRequest{StoreOp::set, "a", "", 0},
                    StoreRequest{StoreOp::set, "comm/data/0", std::string("\0\xff\n", 3), 0},
                    StoreRequest{StoreOp::get, std::string(kMaxKeyBytes, 'k'), "", 300000},
                    StoreRequest{StoreOp::add, "n", "", -1},
                    StoreRequest{StoreOp::add, "n", "", std::numeric_limits<std::int64_t>::min()}));

TEST(DecodeRequest, RefusesUnknownOperationsEmptyAndLongKeysAndTrailingBytes) {
  Bytes unknown = encode(StoreRequest{StoreOp::get, "k", "", 1});
  unknown[0] = std::byte{4};
  Bytes trailing = encode(StoreRequest{StoreOp::get, "k", "", 1});
  trailing.push_back(std::byte{0});

  EXPECT_THROW(decode_request(unknown), Error);
  EXPECT_THROW(decode_request(trailing), Error);
  EXPECT_THROW(decode_request(encode(StoreRequest{StoreOp::get, "", "", 1})), Error);
  EXPECT_THROW(
      decode_request(encode(StoreRequest{StoreOp::get, std::string(kMaxKeyBytes + 1, 'k'), "", 1})),
      Error);
}

TEST(DecodeRequest, SurvivesRandomBytes) {
  std::mt19937 random(1);
  int accepted = 0;
  for (int i = 0; i < 20000; ++i) {
    Bytes bytes(random() % 40);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
    try {
      const StoreRequest request = decode_request(bytes);
      EXPECT_LE(request.key.size(), bytes.size());
      ++accepted;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::io);
    }
  }
  EXPECT_LT(accepted, 20000);
}

TEST(Response, SurvivesEncoding) {
  const StoreResponse value{StoreStatus::ok, std::string("x\0y", 3), 0};
  const StoreResponse count{StoreStatus::ok, "", -7};
  const StoreResponse refused{StoreStatus::refused, "no counter", 0};

  EXPECT_EQ(decode_response(StoreOp::get, encode(StoreOp::get, value)).value, value.value);
  EXPECT_EQ(decode_response(StoreOp::add, encode(StoreOp::add, count)).number, -7);
  EXPECT_EQ(decode_response(StoreOp::add, encode(StoreOp::add, refused)).value, "no counter");
}

TEST(CheckStoreCall, NamesTheLimitThatIsPassed) {
  EXPECT_NO_THROW(check_store_call("k", kMaxValueBytes));
  EXPECT_THROW(check_store_call("", 0), Error);
  EXPECT_THROW(check_store_call(std::string(kMaxKeyBytes + 1, 'k'), 0), Error);
  try {
    check_store_call("big", kMaxValueBytes + 1);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("16777217"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace muster::collectives
