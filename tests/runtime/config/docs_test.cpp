#include <set>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "runtime/config/file.hpp"
#include "runtime/config/job.hpp"

namespace muster::runtime {
namespace {

std::string code(const std::string& text) {
  return text.empty() ? "" : "`" + text + "`";
}

std::string row(const KeyInfo& key) {
  const std::string default_value =
      key.default_value.empty() ? "required" : code(key.default_value);
  return "| " + code(key.name) + " | " + key.type + " | " + default_value + " | " +
         (key.allowed.empty() ? "any" : key.allowed) + " | " + key.meaning + " |";
}

std::set<std::string> key_rows_of(const std::string& text) {
  std::set<std::string> rows;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("| `")) rows.insert(line);
  }
  return rows;
}

TEST(ConfigDocs, HaveOneRowForEveryKeyAndNoOther) {
  std::set<std::string> documented =
      key_rows_of(read_file(MUSTER_SOURCE_DIR "/docs/config.md", 1 << 20));

  for (const KeyInfo& key : job_keys()) {
    EXPECT_EQ(documented.erase(row(key)), 1U) << "docs/config.md lacks the row\n" << row(key);
  }
  for (const std::string& line : documented) ADD_FAILURE() << "no key has this row: " << line;
}

}  // namespace
}  // namespace muster::runtime
