#include "runtime/checkpoint/safetensors.hpp"

#include <array>
#include <span>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "runtime/config/file.hpp"
#include "tests/runtime/checkpoint/safetensors_text.hpp"
#include "tests/support/error_text.hpp"
#include "tests/support/temp_dir.hpp"

namespace muster::runtime {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

template <typename T>
const std::byte* bytes_of(const std::vector<T>& values) {
  return reinterpret_cast<const std::byte*>(values.data());
}

TEST(SafetensorsFile, ReadsNamesShapesAndOffsets) {
  const TempDir dir;
  const std::string header =
      "{\"__metadata__\":{\"format\":\"pt\"}," + entry("b", "BF16", "[2,1]", "[4,8]") + "," +
      entry("a", "F32", "[]", "[0,4]") + "," + entry("empty", "I64", "[0,3]", "[8,8]") + "," +
      entry("mask", "BOOL", "[3]", "[8,11]") + "}   ";
  const SafetensorsFile file(dir.write("x", safetensors(header, std::string(11, '\1'))));

  EXPECT_THAT(file.metadata(), ElementsAre(Pair("format", "pt")));
  ASSERT_EQ(file.tensors().size(), 4U);
  const TensorInfo* b = file.find("b");
  ASSERT_NE(b, nullptr);
  EXPECT_EQ(b->dtype, Dtype::bf16);
  EXPECT_THAT(b->shape, ElementsAre(2, 1));
  EXPECT_EQ(b->count, 2);
  EXPECT_EQ(b->offset, static_cast<std::int64_t>(8 + header.size() + 4));
  EXPECT_EQ(file.find("a")->count, 1);
  EXPECT_THAT(file.find("a")->shape, IsEmpty());
  EXPECT_EQ(file.find("empty")->count, 0);
  EXPECT_EQ(file.find("mask")->dtype, std::nullopt);
  EXPECT_EQ(file.find("mask")->dtype_name, "BOOL");
  EXPECT_EQ(file.find("c"), nullptr);
}

TEST(SafetensorsFile, TakesAFileWithoutTensors) {
  const TempDir dir;

  EXPECT_TRUE(SafetensorsFile(dir.write("x", safetensors("{}", ""))).tensors().empty());
  EXPECT_TRUE(
      SafetensorsFile(dir.write("y", safetensors("{\"__metadata__\":{}}", ""))).tensors().empty());
}

struct BadFile {
  const char* name;
  std::string bytes;
  std::string message;
};

class BadSafetensors : public testing::TestWithParam<BadFile> {};

TEST_P(BadSafetensors, IsRefusedWithFileAndReason) {
  const TempDir dir;
  const std::string path = dir.write("bad.safetensors", GetParam().bytes);

  const std::string text = error_text(ErrorCode::config, [&] { SafetensorsFile file(path); });

  EXPECT_THAT(text,
              AllOf(HasSubstr(path + " is not a safetensors file"), HasSubstr(GetParam().message)));
}

const std::string kFour(4, 'x');
const std::string kEight(8, 'x');

const BadFile kBadFiles[] = {
    {"Empty", "", "it has 0 bytes and must begin with 8 bytes"},
    {"SevenBytes", "1234567", "it has 7 bytes and must begin with 8 bytes"},
    {"LengthOf2To63", raw_safetensors(std::uint64_t{1} << 63, "{}", ""),
     "the header length at offset 0 is 9223372036854775808, above the limit of 100000000"},
    {"LengthJustAboveTheLimit", raw_safetensors(100'000'001, "{}", ""),
     "the header length at offset 0 is 100000001, above the limit of 100000000"},
    {"LengthAtTheLimitBehindTheEnd", raw_safetensors(100'000'000, "{}", ""),
     "the header at offset 8 must have 100000000 bytes but the file ends after 2"},
    {"HeaderCut", raw_safetensors(30, "{\"a\":{\"dtype\":\"F32\",", ""),
     "the header at offset 8 must have 30 bytes but the file ends after 20"},
    {"EmptyHeader", raw_safetensors(0, "", ""), "must begin with '{' and begins with \"\""},
    {"NoBrace", safetensors("[1,2,3]", ""), "must begin with '{' and begins with \"[\""},
    {"NotJson", safetensors("{\"a\":}", ""), "(6 bytes) is not JSON, at offset 13"},
    {"TwoValues", safetensors("{}{}", ""), "is not JSON, at offset 10"},
    {"InvalidUtf8", safetensors("{\"\xff\":1}", ""), "is not JSON, at offset 10"},
    {"TensorIsANumber", safetensors("{\"a\":1}", ""),
     "has a number where none belongs, at \"a\" of the outermost object"},
    {"TensorIsAList", safetensors("{\"a\":[]}", ""), "has a list where none belongs"},
    {"NestedObject", safetensors("{\"a\":{\"dtype\":{}}}", ""),
     "has an object where none belongs, at \"dtype\" of \"a\""},
    {"ListInList", safetensors("{" + entry("a", "F32", "[[1]]", "[0,4]") + "}", kFour),
     "has a list where none belongs, at \"shape\" of \"a\""},
    {"UnknownMember", safetensors("{\"a\":{\"dtype\":\"F32\",\"size\":[1]}}", kFour),
     "has a list where none belongs, at \"size\" of \"a\""},
    {"NegativeSize", safetensors("{" + entry("a", "F32", "[-1]", "[0,4]") + "}", kFour),
     "has a number that is no integer in [0, 2^64) where none belongs, at \"shape\" of \"a\""},
    {"FractionalOffset", safetensors("{" + entry("a", "F32", "[1]", "[0,4.0]") + "}", kFour),
     "at \"data_offsets\" of \"a\""},
    {"MetadataNumber", safetensors("{\"__metadata__\":{\"step\":1}}", ""),
     "has a number where none belongs, at \"step\" of __metadata__"},
    {"NoDtype", safetensors("{\"a\":{\"shape\":[1],\"data_offsets\":[0,4]}}", kFour),
     "tensor \"a\" has no \"dtype\""},
    {"NoShape", safetensors("{\"a\":{\"dtype\":\"F32\",\"data_offsets\":[0,4]}}", kFour),
     "tensor \"a\" has no \"shape\""},
    {"NoOffsets", safetensors("{\"a\":{\"dtype\":\"F32\",\"shape\":[1]}}", kFour),
     "tensor \"a\" has no \"data_offsets\""},
    {"ThreeOffsets", safetensors("{" + entry("a", "F32", "[1]", "[0,2,4]") + "}", kFour),
     "tensor \"a\" has 3 data_offsets; it must have 2"},
    {"TwoShapes", safetensors("{\"a\":{\"shape\":[1],\"shape\":[1]}}", kFour),
     "has \"shape\" of \"a\" twice"},
    {"DuplicateName",
     safetensors(
         "{" + entry("a", "F32", "[1]", "[0,4]") + "," + entry("a", "F32", "[1]", "[4,8]") + "}",
         kEight),
     "has \"a\" twice"},
    {"UnknownDtype", safetensors("{" + entry("a", "F31", "[1]", "[0,4]") + "}", kFour),
     "tensor \"a\" has dtype \"F31\"; known are F64, F32"},
    {"ShapeOverflow",
     safetensors("{" + entry("a", "F32", "[4294967296,4294967296]", "[0,4]") + "}", kFour),
     "the shape [4294967296, 4294967296] of tensor \"a\" overflows 64 bits"},
    {"HugeSizeHiddenByZero",
     safetensors("{" + entry("a", "F32", "[0,18446744073709551615]", "[0,0]") + "}", ""),
     "of tensor \"a\" overflows 64 bits"},
    {"ShapeOtherThanRange", safetensors("{" + entry("a", "F32", "[3]", "[0,8]") + "}", kEight),
     "tensor \"a\" of F32 [3] needs 12 bytes; its data_offsets [0, 8] hold 8"},
    {"RangeBackwards", safetensors("{" + entry("a", "F32", "[1]", "[8,4]") + "}", kEight),
     "data_offsets [8, 4], outside the 8 bytes"},
    {"DataCut", safetensors("{" + entry("a", "F32", "[2]", "[0,8]") + "}", kFour),
     "data_offsets [0, 8], outside the 4 bytes of data that begin at offset"},
    {"Overlap",
     safetensors(
         "{" + entry("a", "F32", "[1]", "[0,4]") + "," + entry("b", "F32", "[1]", "[2,6]") + "}",
         std::string(6, 'x')),
     "so they overlap"},
    {"Hole",
     safetensors(
         "{" + entry("a", "F32", "[1]", "[0,4]") + "," + entry("b", "U8", "[2]", "[6,8]") + "}",
         kEight),
     "so they leave a hole"},
    {"HoleAtTheBegin", safetensors("{" + entry("a", "F32", "[1]", "[4,8]") + "}", kEight),
     "the header ends at"},
    {"TrailingByte", safetensors("{" + entry("a", "F32", "[1]", "[0,4]") + "}", kFour + "x"),
     "1 bytes follow tensor \"a\" that ends at offset"},
    {"TrailingByteWithoutTensors", safetensors("{}", "x"), "1 bytes follow the header"},
};

INSTANTIATE_TEST_SUITE_P(All, BadSafetensors, testing::ValuesIn(kBadFiles),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(SafetensorsFile, NamesAMissingFileAndAFolder) {
  const TempDir dir;

  EXPECT_THAT(error_text(ErrorCode::config, [&] { SafetensorsFile file(dir.path("none")); }),
              AllOf(HasSubstr(dir.path("none")), HasSubstr("No such file")));
  EXPECT_THAT(error_text(ErrorCode::config, [&] { SafetensorsFile file(dir.path("")); }),
              HasSubstr("not a regular file"));
}

TEST(WriteSafetensors, OrdersByDtypeSizeThenNameAndAlignsTheData) {
  const TempDir dir;
  const std::string path = dir.path("x.safetensors");
  const std::vector<float> floats = {1, 2, 3};
  const std::vector<std::int64_t> longs = {7};
  const std::vector<Bfloat16> halves = {Bfloat16(1.0F)};

  write_safetensors(path, {{"z", Dtype::f32, {1}, bytes_of(floats)},
                           {"h", Dtype::bf16, {1, 1}, bytes_of(halves)},
                           {"a", Dtype::f32, {3}, bytes_of(floats)},
                           {"n", Dtype::f32, {0}, nullptr},
                           {"l", Dtype::i64, {}, bytes_of(longs)}});

  const std::string bytes = read_file(path, 1 << 20);
  const std::string expected =
      "{\"__metadata__\":{\"format\":\"pt\"}," + entry("l", "I64", "[]", "[0,8]") + "," +
      entry("a", "F32", "[3]", "[8,20]") + "," + entry("n", "F32", "[0]", "[20,20]") + "," +
      entry("z", "F32", "[1]", "[20,24]") + "," + entry("h", "BF16", "[1,1]", "[24,26]") + "}";
  EXPECT_EQ(bytes.substr(8, expected.size()), expected);
  EXPECT_EQ((bytes.size() - 26) % 8, 0U);
  const SafetensorsFile file(path);
  std::array<float, 3> back{};
  file.file().read(file.find("a")->offset, std::as_writable_bytes(std::span(back)));
  EXPECT_THAT(back, ElementsAre(1, 2, 3));
}

TEST(WriteSafetensors, EscapesNames) {
  const TempDir dir;
  const std::vector<float> values = {5};

  write_safetensors(dir.path("x"), {{"a\"\n\\é", Dtype::f32, {1}, bytes_of(values)}});

  EXPECT_NE(SafetensorsFile(dir.path("x")).find("a\"\n\\é"), nullptr);
}

TEST(WriteSafetensors, RefusesANameTwice) {
  const TempDir dir;
  const std::vector<float> values = {5};

  const std::string text = error_text(ErrorCode::invalid_argument, [&] {
    write_safetensors(dir.path("x"), {{"a", Dtype::f32, {1}, bytes_of(values)},
                                      {"a", Dtype::f16, {2}, bytes_of(values)}});
  });

  EXPECT_THAT(text, HasSubstr("tensor \"a\" is to be written twice"));
}

}  // namespace
}  // namespace muster::runtime
