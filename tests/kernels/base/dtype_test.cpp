#include "kernels/base/dtype.hpp"

#include <array>

#include <gtest/gtest.h>

namespace muster {
namespace {

constexpr std::array kAll{Dtype::f64, Dtype::f32, Dtype::f16, Dtype::bf16,
                          Dtype::i64, Dtype::i32, Dtype::i8,  Dtype::u8};

TEST(Dtype, IsParsedFromItsOwnName) {
  for (const Dtype dtype : kAll) EXPECT_EQ(parse_dtype(to_string(dtype)), dtype);
}

TEST(Dtype, IsNotParsedFromOtherText) {
  for (const char* text : {"", "F32", "f32 ", "float", "bf1"})
    EXPECT_EQ(parse_dtype(text), std::nullopt);
}

TEST(Dtype, HasTheSizeOfItsElementType) {
  EXPECT_EQ(size_of(dtype_of<double>), sizeof(double));
  EXPECT_EQ(size_of(dtype_of<float>), sizeof(float));
  EXPECT_EQ(size_of(dtype_of<Half>), sizeof(Half));
  EXPECT_EQ(size_of(dtype_of<Bfloat16>), sizeof(Bfloat16));
  EXPECT_EQ(size_of(dtype_of<std::int64_t>), sizeof(std::int64_t));
  EXPECT_EQ(size_of(dtype_of<std::int32_t>), sizeof(std::int32_t));
  EXPECT_EQ(size_of(dtype_of<std::int8_t>), sizeof(std::int8_t));
  EXPECT_EQ(size_of(dtype_of<std::uint8_t>), sizeof(std::uint8_t));
}

TEST(Dtype, IsFloatingForTheFourFloats) {
  for (const Dtype dtype : kAll) {
    const bool expected = to_string(dtype).find('f') != std::string_view::npos;
    EXPECT_EQ(is_floating(dtype), expected) << to_string(dtype);
  }
}

}  // namespace
}  // namespace muster
