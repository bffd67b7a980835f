#pragma once

#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "kernels/base/error.hpp"

namespace muster {

/// The text of the Error that `body` throws, which must have the code `expected`; a test failure
/// and an empty text when it throws none.
template <typename Body>
std::string error_text(ErrorCode expected, Body&& body) {
  try {
    std::forward<Body>(body)();
  } catch (const Error& error) {
    EXPECT_EQ(to_string(error.code()), to_string(expected)) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

}  // namespace muster
