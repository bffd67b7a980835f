#include "runtime/bench/sizes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/error_text.hpp"

namespace muster::runtime {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

struct SizeText {
  const char* text;
  std::int64_t bytes;
};
class ParseSize : public testing::TestWithParam<SizeText> {};

TEST_P(ParseSize, ReadsBinaryUnitsAndFractions) {
  EXPECT_EQ(parse_size("-b", GetParam().text), GetParam().bytes);
}

INSTANTIATE_TEST_SUITE_P(Texts, ParseSize,
                         testing::Values(SizeText{"0", 0}, SizeText{"8", 8}, SizeText{"1K", 1024},
                                         SizeText{"1.5k", 1536}, SizeText{"32M", 33554432},
                                         SizeText{"0.5G", 536870912}, SizeText{"2.5", 2},
                                         SizeText{"8g", 8589934592}));

class BadSize : public testing::TestWithParam<const char*> {};

TEST_P(BadSize, IsRefusedByNameAndLimit) {
  EXPECT_THAT(error_text(ErrorCode::config, [] { parse_size("-e", GetParam()); }),
              AllOf(HasSubstr("-e"), HasSubstr(GetParam()), HasSubstr("K, M or G")));
}

INSTANTIATE_TEST_SUITE_P(Texts, BadSize,
                         testing::Values("", "x", "1x", "1KB", "-1", "nan", "1e3", "9999999G",
                                         "1 K", "inf"));

TEST(Sizes, GrowByAFactorUpToTheLargest) {
  EXPECT_THAT(sizes_of({.least = 8, .most = 70, .factor = 2}), ElementsAre(8, 16, 32, 64));
}

TEST(Sizes, GrowByAStepWithoutAFactor) {
  EXPECT_THAT(sizes_of({.least = 0, .most = 10, .step = 5}), ElementsAre(0, 5, 10));
}

TEST(Sizes, AreOneWhenLeastIsMost) {
  EXPECT_THAT(sizes_of({.least = 7, .most = 7, .step = 0}), ElementsAre(7));
  EXPECT_THAT(sizes_of({.least = 0, .most = 0, .factor = 2}), ElementsAre(0));
}

TEST(Sizes, RefuseARangeThatIsEmpty) {
  EXPECT_THAT(
      error_text(ErrorCode::invalid_argument, [] { sizes_of({.least = 1 << 20, .most = 8}); }),
      AllOf(HasSubstr("1048576"), HasSubstr("8 B (-e)")));
}

TEST(Sizes, RefuseARangeWithoutAnEnd) {
  EXPECT_THAT(error_text(ErrorCode::invalid_argument,
                         [] { sizes_of({.least = 0, .most = 8, .factor = 2}); }),
              HasSubstr("never reach"));
  EXPECT_THAT(
      error_text(ErrorCode::invalid_argument, [] { sizes_of({.least = 4, .most = 8, .step = 0}); }),
      HasSubstr("never reach"));
}

}  // namespace
}  // namespace muster::runtime
