#pragma once

#include <chrono>

namespace muster {

/// Seconds from one moment of the monotonic clock to another.
inline double seconds_between(std::chrono::steady_clock::time_point begin,
                              std::chrono::steady_clock::time_point end) {
  return std::chrono::duration<double>(end - begin).count();
}

inline double seconds_since(std::chrono::steady_clock::time_point begin) {
  return seconds_between(begin, std::chrono::steady_clock::now());
}

/// Seconds as a duration of the monotonic clock.
inline std::chrono::steady_clock::duration duration_of(double seconds) {
  return std::chrono::duration_cast<std::chrono::steady_clock::duration>(
      std::chrono::duration<double>(seconds));
}

}  // namespace muster
