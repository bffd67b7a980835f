#include "runtime/dataset/jsonl.hpp"

#include <string>

#include <gmock/gmock.h>

namespace muster::runtime {
namespace {

using testing::HasSubstr;

TEST(JsonRow, TakesTheTextAndIgnoresOtherMembers) {
  const JsonRow row = parse_json_row(
      R"({"id": 3, "meta": {"text": "no", "list": [{"text": 1}]}, "text": "a\n\u00e9\ud83d\ude00", "z": null})");

  EXPECT_EQ(row.problem, "");
  EXPECT_EQ(row.text, "a\né😀");
}

TEST(JsonRow, TakesAnEmptyText) {
  const JsonRow row = parse_json_row(R"({"text":""})");

  EXPECT_EQ(row.problem, "");
  EXPECT_EQ(row.text, "");
}

struct BadRow {
  const char* name;
  std::string line;
  std::size_t byte;  // 0: not the place of a byte
  std::string problem;
};

class BadJsonRow : public testing::TestWithParam<BadRow> {};

TEST_P(BadJsonRow, IsRefusedWithByteAndReason) {
  const JsonRow row = parse_json_row(GetParam().line);

  EXPECT_THAT(row.problem, HasSubstr(GetParam().problem));
  EXPECT_EQ(row.byte, GetParam().byte);
}

const BadRow kBadRows[] = {
    {"InvalidUtf8", "{\"text\":\"\xff\"}", 10, "ill-formed UTF-8 byte"},
    {"OverlongUtf8", "{\"text\":\"\xc0\x80\"}", 10, "ill-formed UTF-8 byte"},
    {"Utf8Surrogate", "{\"text\":\"\xed\xa0\x80\"}", 11, "ill-formed UTF-8 byte"},
    {"CutUtf8", "{\"text\":\"a\xc3\"}", 12, "ill-formed UTF-8 byte"},
    {"RawTab", "{\"text\":\"a\tb\"}", 11, "control character U+0009"},
    {"RawNul", std::string("{\"text\":\"a\0\"}", 13), 11, "control character U+0000"},
    {"LoneSurrogate", R"({"text":"\ud800"})", 16, "surrogate"},
    {"CutOff", R"({"text":"abc)", 13, "missing closing quote"},
    {"NoEnd", R"({"text":"abc")", 14, "unexpected end of input"},
    {"TwoValues", R"({"text":"a"} {"text":"b"})", 14, "unexpected '{'"},
    {"NotJson", "text", 2, "invalid literal"},
    {"List", "[1]", 0, "must be an object, is a list"},
    {"String", "\"text\"", 0, "must be an object, is a string"},
    {"Null", "null", 0, "must be an object, is null"},
    {"NoText", R"({"txt":"a"})", 0, "has no \"text\""},
    {"NumberText", R"({"text":5})", 0, "\"text\" must be a string, is a number"},
    {"NullText", R"({"text":null})", 0, "\"text\" must be a string, is null"},
    {"ObjectText", R"({"text":{"text":"a"}})", 0, "\"text\" must be a string, is an object"},
    {"TwoTexts", R"({"text":"a","text":"b"})", 0, "twice"},
    {"HugeNumber", R"({"n":1e999,"text":"a"})", 10, "number overflow"},
};

INSTANTIATE_TEST_SUITE_P(All, BadJsonRow, testing::ValuesIn(kBadRows),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(JsonRow, SurvivesDeepNesting) {
  const std::string deep(1'000'000, '[');

  EXPECT_NE(parse_json_row("{\"a\":" + deep).problem, "");
}

}  // namespace
}  // namespace muster::runtime
