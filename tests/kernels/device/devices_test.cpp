#include "kernels/devices.hpp"

#include <string>

#include <gtest/gtest.h>

#include "kernels/base/error.hpp"

namespace muster::kernels {
namespace {

std::string message_of(std::string_view kind, const DeviceOptions& options) {
  try {
    open_device(kind, options);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Devices, OpenByKind) {
  const auto device = open_device("cpu", {.threads = 3});

  EXPECT_EQ(device->name(), "cpu");
  EXPECT_EQ(device->threads(), 3);
  EXPECT_NE(device->description().find("3 threads"), std::string::npos) << device->description();
}

TEST(Devices, NameTheKindsThereAreWhenTheOneAskedForIsUnknown) {
  const std::string text = message_of("tpu", {});

  EXPECT_NE(text.find("'tpu'"), std::string::npos) << text;
  for (const std::string_view kind : device_kinds()) {
    EXPECT_NE(text.find(kind), std::string::npos) << text;
  }
}

TEST(Devices, NeedAtLeastOneThread) {
  const std::string text = message_of("cpu", {.threads = 0});

  EXPECT_NE(text.find("at least 1 thread, not 0"), std::string::npos) << text;
}

TEST(Devices, RefuseAnUnknownInstructionSet) {
  const std::string text = message_of("cpu", {.isa = "sse9"});

  EXPECT_NE(text.find("sse9"), std::string::npos) << text;
  EXPECT_NE(text.find("avx2 or avx512"), std::string::npos) << text;
}

}  // namespace
}  // namespace muster::kernels
