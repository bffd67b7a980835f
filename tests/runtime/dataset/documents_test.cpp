#include "runtime/dataset/documents.hpp"

#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include "tests/support/error_text.hpp"
#include "tests/support/temp_dir.hpp"

namespace muster::runtime {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::Pair;

using Documents = std::vector<std::pair<std::string, std::int64_t>>;  // text, line

struct Result {
  Documents documents;
  SkippedRows skipped;
};

Result read(const DataSource& source, const std::string& on_bad_row = "fail") {
  Result result;
  result.skipped = read_documents(
      source, on_bad_row,
      [&](std::string_view text, std::int64_t line) { result.documents.emplace_back(text, line); });
  return result;
}

std::string error_of(const DataSource& source, const std::string& on_bad_row = "fail") {
  return error_text(ErrorCode::config, [&] { read(source, on_bad_row); });
}

TEST(ReadDocuments, TakesATextFileAsOneDocument) {
  const TempDir dir;
  const std::string path = dir.write("a.txt", "one\n%\ntwo\n");

  EXPECT_THAT(read({path, "auto"}).documents, ElementsAre(Pair("one\n%\ntwo\n", 1)));
}

TEST(ReadDocuments, CutsFortunesAtLinesOfAPercentSign) {
  const TempDir dir;
  const std::string path = dir.write("a", "one\n100 %\n%\n%\ntwo\n%x\n %\n%\r\nthree\nlines\n%\n");

  EXPECT_THAT(
      read({path, "fortune"}).documents,
      ElementsAre(Pair("one\n100 %\n", 1), Pair("two\n%x\n %\n", 5), Pair("three\nlines\n", 9)));
}

TEST(ReadDocuments, TakesTheLastFortuneWithoutASeparatorOrNewline) {
  const TempDir dir;

  EXPECT_THAT(read({dir.write("a", "one\n%\ntwo"), "fortune"}).documents,
              ElementsAre(Pair("one\n", 1), Pair("two", 3)));
  EXPECT_THAT(read({dir.write("b", "one\n%"), "fortune"}).documents, ElementsAre(Pair("one\n", 1)));
}

TEST(ReadDocuments, TakesARowOfJsonlPerDocumentByTheFilesEnding) {
  const TempDir dir;
  const std::string rows = "{\"text\":\"a\"}\r\n\n  \n{\"text\":\"\"}\n{\"text\":\"b\"}";

  EXPECT_THAT(read({dir.write("x.jsonl", rows), "auto"}).documents,
              ElementsAre(Pair("a", 1), Pair("b", 5)));
  EXPECT_THAT(read({dir.write("x.txt", rows), "jsonl"}).documents,
              ElementsAre(Pair("a", 1), Pair("b", 5)));
  EXPECT_THAT(read({dir.write("y.txt", rows), "auto"}).documents, ElementsAre(Pair(rows, 1)));
}

TEST(ReadDocuments, NamesFileLineAndByteOfABadRow) {
  const TempDir dir;
  const std::string path = dir.write("data.jsonl", "{\"text\":\"a\"}\n{\"text\":\"\xff\"}\n");

  EXPECT_THAT(error_of({path, "auto"}),
              AllOf(HasSubstr("/data.jsonl:2 byte 10: "), HasSubstr("ill-formed UTF-8"),
                    HasSubstr("on_bad_row = \"skip\"")));
}

TEST(ReadDocuments, SkipsAndCountsBadRowsWhenAsked) {
  const TempDir dir;
  const std::string path = dir.write(
      "data.jsonl", "{\"text\":\"a\"}\n{\"txt\":1}\n{\"text\":\"a\tb\"}\n{\"text\":\"b\"}\n");

  const Result result = read({path, "auto"}, "skip");

  EXPECT_THAT(result.documents, ElementsAre(Pair("a", 1), Pair("b", 4)));
  EXPECT_EQ(result.skipped.count, 2);
  EXPECT_THAT(result.skipped.first, AllOf(HasSubstr("data.jsonl:2: has no \"text\"")));
}

TEST(ReadDocuments, RefusesSourcesWithoutAnyText) {
  const TempDir dir;

  EXPECT_THAT(error_of({dir.write("a.txt", ""), "text"}),
              AllOf(HasSubstr("a.txt (0 bytes, read as text) has no text"),
                    HasSubstr("at least one document of one byte")));
  EXPECT_THAT(error_of({dir.write("b", "%\n%\n"), "fortune"}), HasSubstr("has no text"));
  EXPECT_THAT(error_of({dir.write("c.jsonl", "\n{\"text\":\"\"}\n"), "auto"}),
              AllOf(HasSubstr("has no text"), Not(HasSubstr("skipped"))));
  EXPECT_THAT(error_of({dir.write("d.jsonl", "{}\n{}\n"), "auto"}, "skip"),
              HasSubstr("2 rows were skipped, first"));
}

TEST(ReadDocuments, NamesAMissingFileAndAFolder) {
  const TempDir dir;

  EXPECT_THAT(error_of({dir.path("none.txt"), "auto"}),
              AllOf(HasSubstr("none.txt"), HasSubstr("No such file")));
  EXPECT_THAT(error_of({dir.path(""), "auto"}), HasSubstr("Is a directory"));
}

}  // namespace
}  // namespace muster::runtime
