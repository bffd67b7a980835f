#include "runtime/checkpoint/convert.hpp"

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "tests/support/error_text.hpp"
#include "tests/support/temp_dir.hpp"

namespace muster::runtime {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::int64_t kOffset = 3;  // nothing in a file need be aligned

/// A file of `values` as T, behind kOffset bytes.
template <typename T>
InputFile file_of(const TempDir& dir, const std::vector<float>& values) {
  std::string bytes(kOffset, '\0');
  for (const float value : values) {
    const T stored(value);
    bytes.append(reinterpret_cast<const char*>(&stored), sizeof stored);
  }
  return InputFile(dir.write("values", bytes));
}

/// `count` values from `begin` on, stored as From and read as To at an odd address.
template <typename From, typename To>
std::vector<float> through(const std::vector<float>& values, std::int64_t begin,
                           std::int64_t count) {
  const TempDir dir;
  const InputFile file = file_of<From>(dir, values);
  std::vector<std::byte> raw(static_cast<std::size_t>(count) * sizeof(To) + 1);
  read_as({&file, kOffset, dtype_of<From>, begin, count}, dtype_of<To>, raw.data() + 1, "x");
  std::vector<float> result;
  for (std::int64_t i = 0; i < count; ++i) {
    To value;
    std::memcpy(&value, raw.data() + 1 + i * static_cast<std::int64_t>(sizeof(To)), sizeof(To));
    result.push_back(static_cast<float>(value));
  }
  return result;
}

/// Numbers that f16 and bf16 both hold.
std::vector<float> exact_values(std::int64_t count) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < count; ++i) values.push_back(static_cast<float>(i % 255 - 127) / 8);
  return values;
}

class ReadAs : public testing::TestWithParam<std::int64_t> {};

TEST_P(ReadAs, KeepsExactValuesBetweenAllFloatingTypes) {
  const std::int64_t count = GetParam();
  const std::vector<float> values = exact_values(count + 2);
  const std::vector<float> expected(values.begin() + 1, values.end() - 1);

  EXPECT_EQ((through<float, float>(values, 1, count)), expected);
  EXPECT_EQ((through<float, Half>(values, 1, count)), expected);
  EXPECT_EQ((through<float, Bfloat16>(values, 1, count)), expected);
  EXPECT_EQ((through<Half, float>(values, 1, count)), expected);
  EXPECT_EQ((through<Half, Half>(values, 1, count)), expected);
  EXPECT_EQ((through<Half, Bfloat16>(values, 1, count)), expected);
  EXPECT_EQ((through<Bfloat16, float>(values, 1, count)), expected);
  EXPECT_EQ((through<Bfloat16, Half>(values, 1, count)), expected);
  EXPECT_EQ((through<Bfloat16, Bfloat16>(values, 1, count)), expected);
}

// Around the 64 KiB that are converted at once: 16384 f32, 32768 of two bytes.
INSTANTIATE_TEST_SUITE_P(Counts, ReadAs,
                         testing::Values(0, 1, 7, 16383, 16384, 16385, 32768, 32769));

TEST(ReadAsOther, RoundsToNearestEven) {
  EXPECT_THAT((through<float, Bfloat16>({1.0F + 0x1p-8F, 1.0F + 3 * 0x1p-8F}, 0, 2)),
              ElementsAre(1.0F, 1.0F + 0x1p-6F));
}

TEST(ReadAsOther, KeepsInfinityAndNan) {
  const std::vector<float> back =
      through<float, Half>({std::numeric_limits<float>::infinity(), std::nanf(""), 1e6F}, 0, 3);

  EXPECT_EQ(back[0], std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(back[1]));
  EXPECT_EQ(back[2], std::numeric_limits<float>::infinity());
}

TEST(ReadAsOther, CopiesIntegersOnlyIntoThemselves) {
  const TempDir dir;
  const InputFile file(dir.write("x", std::string(16, '\1')));
  std::int64_t value = 0;

  read_as({&file, 4, Dtype::i64, 0, 1}, Dtype::i64, &value, "tensor \"x\"");
  const std::string text = error_text(ErrorCode::unsupported, [&] {
    read_as({&file, 4, Dtype::i64, 0, 1}, Dtype::f32, &value, "tensor \"x\"");
  });

  EXPECT_EQ(value, 0x0101010101010101);
  EXPECT_THAT(text, AllOf(HasSubstr("tensor \"x\""), HasSubstr("is i64"), HasSubstr("into f32")));
}

TEST(InputFile, NamesOffsetAndPathOfAFileThatEndsBefore) {
  const TempDir dir;
  const InputFile file(dir.write("x", "12345"));
  std::vector<std::byte> out(4);

  const std::string text = error_text(ErrorCode::io, [&] { file.read(3, out); });

  EXPECT_THAT(text, AllOf(HasSubstr(dir.path("x")), HasSubstr("at offset 5"),
                          HasSubstr("the file ends there")));
}

}  // namespace
}  // namespace muster::runtime
