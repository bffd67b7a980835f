#include "launcher/line_splitter.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace muster::launcher {
namespace {

std::vector<std::string> lines_of(const std::vector<std::string>& pieces) {
  std::vector<std::string> lines;
  const auto take = [&](std::string_view line) { lines.emplace_back(line); };
  LineSplitter splitter;
  for (const std::string& piece : pieces) splitter.add(piece, take);
  splitter.finish(take);
  return lines;
}

TEST(LineSplitter, JoinsThePiecesOfALine) {
  EXPECT_EQ(lines_of({"one\ntw", "o", "\n\nthree\n"}),
            (std::vector<std::string>{"one", "two", "", "three"}));
}

TEST(LineSplitter, TakesARestWithoutNewlineAtTheEnd) {
  EXPECT_EQ(lines_of({"one\nrest"}), (std::vector<std::string>{"one", "rest"}));
}

TEST(LineSplitter, HasNoLineWhenThereIsNoText) {
  EXPECT_TRUE(lines_of({"", ""}).empty());
}

class LongLine : public testing::TestWithParam<std::size_t> {};

TEST_P(LongLine, IsCutAtTheLimitAndLosesNothing) {
  const std::size_t bytes = LineSplitter::kMaxLineBytes + GetParam() - 1;
  const std::string text(bytes, 'x');

  const std::vector<std::string> lines = lines_of({text + "\nnext\n"});

  std::string joined;
  for (const std::string& line : lines) {
    EXPECT_LE(line.size(), LineSplitter::kMaxLineBytes);
    joined += line;
  }
  EXPECT_EQ(joined, text + "next");
  EXPECT_EQ(lines.size(), bytes <= LineSplitter::kMaxLineBytes ? 2U : 3U);
}

INSTANTIATE_TEST_SUITE_P(AroundTheLimit, LongLine, testing::Values(0, 1, 2, 1000));

TEST(Printable, DropsEscapeSequencesAndControlCharacters) {
  EXPECT_EQ(printable("a\tb\r\x1b[1;31mred\x1b[0m\x07 \x1b(Bend"), "a\tbred Bend");
}

TEST(Printable, KeepsUtf8AndSurvivesACutSequence) {
  EXPECT_EQ(printable("\xc3\xa9\x1b[12"), "\xc3\xa9");
  EXPECT_EQ(printable("a\x1b"), "a");
}

}  // namespace
}  // namespace muster::launcher
