#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "runtime/config/job.hpp"

namespace muster::runtime {

/// Rows of JSONL that were left out, for the report at start.
struct SkippedRows {
  std::int64_t count = 0;
  std::string first;  // "file:line byte N: why"
};

/// Calls `use(text, line)` for every document of a file in order; `line` is where it begins,
/// counted from 1. Documents without any byte are passed over.
///
/// Formats: "text", the file is one document; "fortune", documents between lines that are a single
/// "%"; "jsonl", a document per row {"text": …}, blank lines allowed; "auto", jsonl for names
/// ending in .jsonl or .ndjson, else text.
///
/// Error(config): the file is missing, unreadable or above 2^34 bytes; it has no document; a row of
/// JSONL is malformed (`file:line byte N: why`) and `on_bad_row` is not "skip".
SkippedRows read_documents(
    const DataSource& source, const std::string& on_bad_row,
    const std::function<void(std::string_view text, std::int64_t line)>& use);

}  // namespace muster::runtime
