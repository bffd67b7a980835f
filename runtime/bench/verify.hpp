#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/bench/inputs.hpp"

namespace muster::runtime {

/// Elements [begin, begin + count) of an output must be elements first, first + 1, … of the input
/// of rank `origin`, or of the reduction.
struct Segment {
  std::int64_t begin = 0;
  std::int64_t count = 0;
  int origin = kReduced;
  std::int64_t first = 0;
};

/// What is wrong with an output.
struct WrongElements {
  std::int64_t count = 0;
  std::int64_t first_index = 0;  // of the output; set when count > 0
  double found = 0.0;
  double expected = 0.0;

  /// "3 wrong elements, the first [17] is 4, expected 5".
  std::string text() const;
};

/// Compares an output with what it must be, bit by bit; averages of floating types may be 2 units
/// in the last place off, since division may be rounded once or twice. out: [1, n] of the pattern's
/// dtype at any alignment.
WrongElements find_wrong(const InputPattern& pattern, std::span<const Segment> segments,
                         ConstTensorView out);

}  // namespace muster::runtime
