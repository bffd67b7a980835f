#include "kernels/cpu/cpu_device.hpp"

#include <cstdint>
#include <cstdlib>

#include <gtest/gtest.h>

namespace muster::kernels::cpu {
namespace {

TEST(CpuDevice, GivesScratchMemoryThatGrowsAndIsKept) {
  CpuDevice device(1, choose_isa(""));
  EXPECT_EQ(device.scratch_bytes(), 0U);

  const auto large = device.scratch(100000);
  const auto small = device.scratch(10);

  EXPECT_GE(large.size(), 100000U);
  EXPECT_EQ(small.data(), large.data());
  EXPECT_EQ(device.scratch_bytes(), large.size());
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(large.data()) % 64, 0U);
}

TEST(CpuDevice, DoesNotCountScratchAsMemoryHandedOut) {
  CpuDevice device(1, choose_isa(""));

  device.scratch(100000);

  EXPECT_EQ(device.memory().allocated(), 0U);
}

/// In a process of its own: oneDNN can be limited before its first use only.
TEST(CpuDeviceDeathTest, LimitsItsMatrixLibraryToAvx2) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto describe_and_exit = [] {
    const std::string text = CpuDevice(1, Isa::avx2).description();
    std::exit(text.find("avx2, oneDNN 2") != std::string::npos && text.ends_with("avx2") ? 0 : 1);
  };

  EXPECT_EXIT(describe_and_exit(), testing::ExitedWithCode(0), "");
}

TEST(CpuDevice, DescribesThreadsKernelsAndLibrary) {
  const CpuDevice device(1, choose_isa(""));

  EXPECT_EQ(device.description().find("1 thread, avx"), 0U) << device.description();
  EXPECT_NE(device.description().find("oneDNN"), std::string::npos) << device.description();
}

}  // namespace
}  // namespace muster::kernels::cpu
