#pragma once

#include <string>
#include <string_view>

namespace muster::runtime {

/// One row of a JSONL file, read strictly: UTF-8, JSON (RFC 8259), one object with one string
/// "text"; other members are ignored.
struct JsonRow {
  std::string text;
  std::string problem;   // empty when the row is good
  std::size_t byte = 0;  // where the problem showed, counted from 1
};

JsonRow parse_json_row(std::string_view line);

}  // namespace muster::runtime
