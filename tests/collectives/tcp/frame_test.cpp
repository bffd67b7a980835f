#include "collectives/tcp/frame.hpp"

#include <algorithm>
#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include "kernels/base/random.hpp"

namespace muster::collectives::tcp {
namespace {

Frame some_frame() {
  Frame frame{.number = 7, .offset = 1000, .length = 5000, .bytes = 4000};
  frame.signature.word = 0x0123'4567'89AB'CDEF;
  frame.signature.count = 1250;
  return frame;
}

ControlHead head_of(const std::string& bytes) {
  ControlHead head;
  std::transform(bytes.begin(), bytes.begin() + kControlHeadBytes, head.begin(),
                 [](char letter) { return static_cast<std::byte>(letter); });
  return head;
}

TEST(TcpFrame, IsReadAsItWasWritten) {
  EXPECT_EQ(decode(encode(some_frame())), some_frame());
}

TEST(TcpFrame, LiesWholeInItsMessage) {
  Frame frame = some_frame();
  frame.bytes = 4001;
  EXPECT_EQ(decode(encode(frame)), std::nullopt);

  frame.offset = 5001;
  frame.bytes = 0;
  EXPECT_EQ(decode(encode(frame)), std::nullopt);

  // The end of the chunk is beyond what 64 bits hold.
  frame.offset = std::uint64_t{0} - 10;
  frame.length = std::uint64_t{0} - 5;
  frame.bytes = 20;
  EXPECT_EQ(decode(encode(frame)), std::nullopt);
}

TEST(TcpFrame, MayBeEmptyAtTheEndOfItsMessage) {
  Frame frame = some_frame();
  frame.offset = frame.length;
  frame.bytes = 0;

  EXPECT_EQ(decode(encode(frame)), frame);
}

TEST(TcpFrame, WithAnyBitOfItsMagicFlippedIsNone) {
  for (std::size_t bit = 0; bit < 32; ++bit) {
    FrameBytes bytes = encode(some_frame());
    bytes[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    EXPECT_EQ(decode(bytes), std::nullopt) << bit;
  }
}

TEST(TcpFrame, WithAnyBitFlippedStaysInsideItsMessage) {
  for (std::size_t bit = 32; bit < 8 * kFrameBytes; ++bit) {
    FrameBytes bytes = encode(some_frame());
    bytes[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    const auto frame = decode(bytes);
    if (!frame) continue;
    EXPECT_NE(*frame, some_frame());
    EXPECT_LE(frame->offset, frame->length);
    EXPECT_LE(frame->bytes, frame->length - frame->offset);
  }
}

TEST(TcpFrame, OfRandomBytesIsNoneOrInsideItsMessage) {
  for (std::uint64_t key = 0; key < 20'000; ++key) {
    FrameBytes bytes;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      bytes[i] = static_cast<std::byte>(mix(key, i) & 0xFFU);
    }
    // Half of them get past the magic.
    if (key % 2 == 0) std::copy_n(encode(some_frame()).begin(), 4, bytes.begin());
    const auto frame = decode(bytes);
    if (!frame) continue;
    EXPECT_LE(frame->offset, frame->length);
    EXPECT_LE(frame->bytes, frame->length - frame->offset);
    EXPECT_EQ(encode(*frame), bytes);
  }
}

TEST(TcpControl, IsReadAsItWasWritten) {
  const Control abort{ControlKind::abort, 3, "the disk is full", 17};
  const std::string bytes = encode(abort);
  auto decoded = decode(head_of(bytes));

  ASSERT_TRUE(decoded);
  decoded->control.text = bytes.substr(kControlHeadBytes);
  EXPECT_EQ(decoded->text_bytes, abort.text.size());
  EXPECT_EQ(decoded->control, abort);
}

TEST(TcpControl, CutsOffALongText) {
  const std::string bytes = encode(Control{ControlKind::abort, 0, std::string(70'000, 'x')});

  EXPECT_EQ(bytes.size(), kControlHeadBytes + kMaxControlText);
  EXPECT_EQ(decode(head_of(bytes))->text_bytes, kMaxControlText);
}

TEST(TcpControl, RefusesUnknownKindsLanesAndLengths) {
  const std::string sound = encode(Control{ControlKind::wish, 1});
  for (const auto& [at, value] : {std::pair{0, 1}, {4, 5}, {5, 4}, {7, 5}}) {
    std::string bytes = sound;
    bytes[static_cast<std::size_t>(at)] = static_cast<char>(value);
    EXPECT_EQ(decode(head_of(bytes)), std::nullopt) << "byte " << at;
  }
}

}  // namespace
}  // namespace muster::collectives::tcp
