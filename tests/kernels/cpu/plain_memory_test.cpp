#include "kernels/cpu/plain_memory.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "kernels/base/error.hpp"

namespace muster::kernels::cpu {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;

class PlainMemorySizes : public testing::TestWithParam<std::size_t> {};

TEST_P(PlainMemorySizes, AreAlignedZeroAndWritable) {
  PlainMemory source;
  for (int round = 0; round < 2; ++round) {  // the second may get the first one's memory back
    const Memory memory = source.allocate(GetParam(), "a test");
    std::byte* const begin = memory.data();

    EXPECT_EQ(memory.bytes(), GetParam());
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(begin) % 256, 0U);
    EXPECT_TRUE(
        std::all_of(begin, begin + GetParam(), [](std::byte b) { return b == std::byte{0}; }));

    std::fill(begin, begin + GetParam(), std::byte{0xFF});
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, PlainMemorySizes,
                         testing::Values(1, 255, 256, 257, 100000, kHugePage - 1, kHugePage,
                                         kHugePage + 1, 3 * kHugePage));

TEST(PlainMemory, CountsExactlyWhatIsHandedOut) {
  PlainMemory source;
  {
    const Memory small = source.allocate(100, "a");
    EXPECT_EQ(source.allocated(), 100U);
    const Memory large = source.allocate(kHugePage + 1, "b");
    EXPECT_EQ(source.allocated(), kHugePage + 101);
  }
  EXPECT_EQ(source.allocated(), 0U);
}

TEST(PlainMemory, GivesNothingForNoBytes) {
  PlainMemory source;

  const Memory memory = source.allocate(0, "nothing");

  EXPECT_EQ(memory.bytes(), 0U);
  EXPECT_EQ(source.allocated(), 0U);
}

TEST(PlainMemory, NamesPurposeAndBytesWhenThereIsTooLittle) {
  PlainMemory source;
  try {
    source.allocate(std::size_t{1} << 50, "the arena");
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    const std::string text = error.what();
    EXPECT_EQ(error.code(), ErrorCode::out_of_memory);
    EXPECT_NE(text.find("the arena"), std::string::npos) << text;
    EXPECT_NE(text.find("1125899906842624"), std::string::npos) << text;
  }
  EXPECT_EQ(source.allocated(), 0U);
}

}  // namespace
}  // namespace muster::kernels::cpu
