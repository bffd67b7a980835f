#include "kernels/base/memory.hpp"

#include <array>
#include <vector>

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(Memory, IsReleasedOnce) {
  std::array<std::byte, 16> bytes{};
  std::vector<std::byte*> released;
  {
    Memory first(bytes.data(), bytes.size(), [&](std::byte* p) { released.push_back(p); });
    const Memory second = std::move(first);
    EXPECT_EQ(second.data(), bytes.data());
    EXPECT_EQ(second.bytes(), bytes.size());
    EXPECT_TRUE(released.empty());
  }
  EXPECT_EQ(released, std::vector<std::byte*>{bytes.data()});
}

TEST(Memory, IsReleasedWhenAnotherTakesItsPlace) {
  std::array<std::byte, 2> bytes{};
  std::vector<std::byte*> released;
  const auto release = [&](std::byte* p) { released.push_back(p); };
  Memory memory(&bytes[0], 1, release);

  memory = Memory(&bytes[1], 1, release);

  EXPECT_EQ(released, std::vector<std::byte*>{&bytes[0]});
  EXPECT_EQ(memory.data(), &bytes[1]);
}

TEST(Memory, IsEmptyByDefault) {
  const Memory memory;
  EXPECT_EQ(memory.data(), nullptr);
  EXPECT_EQ(memory.bytes(), 0U);
}

}  // namespace
}  // namespace muster
