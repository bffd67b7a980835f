#include "collectives/net/frame.hpp"

#include <string>

#include <gtest/gtest.h>

#include "kernels/base/error.hpp"

namespace muster::collectives {
namespace {

class FrameLength : public testing::TestWithParam<std::size_t> {};

TEST_P(FrameLength, SurvivesTheHeader) {
  EXPECT_EQ(frame_payload_bytes(frame_header(GetParam()), GetParam(), "peer"), GetParam());
}

INSTANTIATE_TEST_SUITE_P(Sizes, FrameLength,
                         testing::Values(0, 1, 255, 256, 65535, 16777216, 4294967295));

class LongFrame : public testing::TestWithParam<std::size_t> {};

TEST_P(LongFrame, IsRefusedOneAboveTheLimit) {
  try {
    frame_payload_bytes(frame_header(GetParam()), GetParam() - 1, "10.0.0.7:99");
    FAIL() << "accepted";
  } catch (const Error& error) {
    const std::string text = error.what();
    EXPECT_EQ(error.code(), ErrorCode::io);
    EXPECT_NE(text.find("10.0.0.7:99"), std::string::npos) << text;
    EXPECT_NE(text.find(std::to_string(GetParam())), std::string::npos) << text;
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, LongFrame, testing::Values(1, 256, 16777217, 4294967295));

TEST(FrameHeader, IsLittleEndian) {
  const FrameHeader expected = {std::byte{4}, std::byte{3}, std::byte{2}, std::byte{1}};

  EXPECT_EQ(frame_header(0x01020304), expected);
}

TEST(FrameHeader, RefusesWhatFourBytesCannotSay) {
  EXPECT_THROW(frame_header(std::size_t{1} << 32), Error);
}

}  // namespace
}  // namespace muster::collectives
