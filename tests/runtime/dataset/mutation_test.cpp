#include <string>

#include <gtest/gtest.h>

#include "kernels/base/error.hpp"
#include "runtime/dataset/documents.hpp"
#include "runtime/dataset/jsonl.hpp"
#include "tests/support/mutate.hpp"
#include "tests/support/temp_dir.hpp"

namespace muster::runtime {
namespace {

TEST(JsonRow, IsTakenOrRefusedWithAPlaceInsideTheRowHoweverDamaged) {
  const std::string whole =
      R"({"id": [1, -2.5e3, {"a": null}], "text": "a\n\"\u00e9\ud83d\ude00 é", "z": false})";
  Mutator mutator(19);
  int taken = 0;

  for (int i = 0; i < 100'000; ++i) {
    const std::string line = mutator.mutate(whole);
    const JsonRow row = parse_json_row(line);
    taken += row.problem.empty() ? 1 : 0;
    EXPECT_LE(row.byte, line.size() + 1) << line;
    EXPECT_EQ(row.problem.find('\n'), std::string::npos) << row.problem;
  }

  EXPECT_GT(taken, 1000);
}

TEST(ReadDocuments, SkipsWhatIsDamagedAndKeepsTheRest) {
  const TempDir dir;
  const std::string good = "{\"text\":\"good\"}\n";
  Mutator mutator(20);
  std::string rows;
  for (int i = 0; i < 500; ++i) rows += mutator.mutate("{\"text\":\"bad\"}") + "\n" + good;
  std::int64_t kept = 0;

  const SkippedRows skipped =
      read_documents({dir.write("x.jsonl", rows), "auto"}, "skip",
                     [&](std::string_view text, std::int64_t) { kept += text == "good" ? 1 : 0; });

  EXPECT_EQ(kept, 500);
  EXPECT_GT(skipped.count, 100);
}

}  // namespace
}  // namespace muster::runtime
