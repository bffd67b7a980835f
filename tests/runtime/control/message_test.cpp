#include "runtime/control/message.hpp"

#include <random>
#include <string>
#include <variant>

#include <gtest/gtest.h>

#include "kernels/base/error.hpp"

namespace muster::runtime {
namespace {

TEST(Message, CarriesProgressUnchanged) {
  const ProgressMessage sent{{.step = 7, .steps = 9, .loss = 2.5, .eta_s = 1e9}, true};

  const auto received = std::get<ProgressMessage>(decode(encode(sent)));

  EXPECT_EQ(received.progress.step, 7);
  EXPECT_EQ(received.progress.steps, 9);
  EXPECT_EQ(received.progress.loss, 2.5);
  EXPECT_EQ(received.progress.eta_s, 1e9);
  EXPECT_TRUE(received.is_due);
}

TEST(Message, CarriesACauseWithItsCodeAndTime) {
  const FailingMessage sent{ErrorCode::peer_lost, 123456789012345, "rank 2 is gone\n  while x"};

  const auto received = std::get<FailingMessage>(decode(encode(sent)));

  EXPECT_EQ(received.code, sent.code);
  EXPECT_EQ(received.at_ns, sent.at_ns);
  EXPECT_EQ(received.cause, sent.cause);
}

TEST(Message, CarriesTheKindsWithoutNumbers) {
  EXPECT_EQ(std::get<LinesMessage>(decode(encode(LinesMessage{"a\nb"}))).text, "a\nb");
  EXPECT_EQ(std::get<LinesMessage>(decode(encode(LinesMessage{""}))).text, "");
  EXPECT_EQ(std::get<AbortMessage>(decode(encode(AbortMessage{"rank 1"}))).reason, "rank 1");
  EXPECT_TRUE(std::holds_alternative<FinishedMessage>(decode(encode(FinishedMessage{}))));
  EXPECT_TRUE(std::holds_alternative<StopMessage>(decode(encode(StopMessage{}))));
}

TEST(Message, CutsATextThatIsTooLong) {
  const std::vector<std::byte> bytes = encode(LinesMessage{std::string(kMaxMessageText + 1, 'x')});

  EXPECT_LE(bytes.size(), kMaxMessageBytes);
  EXPECT_EQ(std::get<LinesMessage>(decode(bytes)).text.size(), kMaxMessageText);
}

TEST(Message, IsRefusedWhenCutOrUnknownOrTooLong) {
  const std::vector<std::byte> whole = encode(ProgressMessage{});
  std::vector<std::byte> longer = whole;
  longer.push_back(std::byte{0});
  std::vector<std::byte> unknown = whole;
  unknown[0] = std::byte{6};
  std::vector<std::byte> bad_code = encode(FailingMessage{});
  bad_code[1] = std::byte{200};

  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
    EXPECT_THROW(decode(std::span(whole).first(bytes)), Error) << bytes << " bytes";
  }
  EXPECT_THROW(decode(longer), Error);
  EXPECT_THROW(decode(unknown), Error);
  EXPECT_THROW(decode(bad_code), Error);
}

TEST(Message, SurvivesRandomBytes) {
  std::mt19937 random(1);
  int refused = 0;
  for (int i = 0; i < 20000; ++i) {
    std::vector<std::byte> bytes(random() % 100);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() % 8);
    try {
      decode(bytes);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::io);
      ++refused;
    }
  }
  EXPECT_GT(refused, 0);
  EXPECT_LT(refused, 20000);
}

}  // namespace
}  // namespace muster::runtime
