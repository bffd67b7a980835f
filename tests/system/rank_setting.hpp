#pragma once

#include <cstdlib>
#include <string>

namespace muster::test {

/// An environment variable that tells a rank of a test what to do.
inline std::string setting(const char* name, const char* otherwise) {
  const char* const value = std::getenv(name);
  return value == nullptr ? otherwise : value;
}

}  // namespace muster::test
