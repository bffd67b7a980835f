#include "kernels/base/error.hpp"

#include <string>

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(WithContext, AddsOneLinePerLayerInnermostFirst) {
  const auto connect = [] { throw Error(ErrorCode::timeout, "no answer from rank 3 within 30 s"); };
  const auto join = [&] { with_context([] { return "joining group 'data'"; }, connect); };

  try {
    with_context([] { return std::string("starting step 17"); }, join);
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    const std::string text = error.what();
    EXPECT_EQ(error.code(), ErrorCode::timeout);
    EXPECT_EQ(text.find("timeout: no answer from rank 3 within 30 s"), 0U) << text;
    EXPECT_LT(text.find("joining group 'data'"), text.find("starting step 17")) << text;
  }
}

TEST(Assert, NamesConditionAndPlace) {
  try {
    MUSTER_ASSERT(1 + 1 == 3);
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    const std::string text = error.what();
    EXPECT_EQ(error.code(), ErrorCode::internal);
    EXPECT_NE(text.find("1 + 1 == 3"), std::string::npos) << text;
    EXPECT_NE(text.find("error_test.cpp"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace muster
