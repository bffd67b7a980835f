#include "runtime/config/names.hpp"

#include <array>
#include <string>

#include <gtest/gtest.h>

namespace muster::runtime {
namespace {

TEST(EditDistance, CountsEachKindOfChangeOnce) {
  EXPECT_EQ(edit_distance("steps", "steps"), 0U);
  EXPECT_EQ(edit_distance("steps", "step"), 1U);
  EXPECT_EQ(edit_distance("steps", "stteps"), 1U);
  EXPECT_EQ(edit_distance("steps", "staps"), 1U);
  EXPECT_EQ(edit_distance("steps", "setps"), 1U);
  EXPECT_EQ(edit_distance("", "abc"), 3U);
  EXPECT_EQ(edit_distance("abc", ""), 3U);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);
}

TEST(EditDistance, DoesNotEditASwappedPairAgain) {
  EXPECT_EQ(edit_distance("ca", "abc"), 3U);
}

TEST(Nearest, FindsTheLeastDistantNameAndNothingFarAway) {
  const std::array<std::string, 3> known = {"layers", "heads", "hidden"};

  EXPECT_EQ(nearest("layer", known), "layers");
  EXPECT_EQ(nearest("haeds", known), "heads");
  EXPECT_EQ(nearest("optimizer", known), "");
  EXPECT_EQ(nearest("", known), "");
}

TEST(Nearest, BoundsItsWorkOnAVeryLongName) {
  const std::array<std::string, 1> known = {"layers"};

  EXPECT_EQ(nearest(std::string(std::size_t{1} << 26, 'x'), known), "");
}

TEST(Quote, EscapesWhatATerminalWouldObey) {
  EXPECT_EQ(quote("a\"b\\c"), R"("a\"b\\c")");
  EXPECT_EQ(quote("\x1b[31m\n"), R"("\x1b[31m\x0a")");
}

TEST(Quote, CutsLongTextAndSaysSo) {
  EXPECT_EQ(quote(std::string(200, 'a')), "\"" + std::string(80, 'a') + "…\"");
  EXPECT_EQ(quote(std::string(80, 'a')), "\"" + std::string(80, 'a') + "\"");
}

}  // namespace
}  // namespace muster::runtime
