#pragma once

#include <string>

namespace muster::runtime {

/// A job file with nothing but what must be given; tests add lines or replace a value.
inline std::string small_job() {
  return "[model]\n"                 // 1
         "layers = 2\n"              // 2
         "hidden = 64\n"             // 3
         "heads = 4\n"               // 4
         "[[data.train]]\n"          // 5
         "path = \"text.txt\"\n"     // 6
         "[training]\n"              // 7
         "steps = 100\n"             // 8
         "global_batch_size = 8\n";  // 9
}

/// `text` with its only occurrence of `before` replaced.
inline std::string with(std::string text, const std::string& before, const std::string& after) {
  return text.replace(text.find(before), before.size(), after);
}

}  // namespace muster::runtime
