#include "kernels/base/tensor_view.hpp"

#include <array>

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(TensorView, FindsRowsOfABlockOfColumns) {
  std::array<float, 12> data{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  const TensorView matrix = matrix_view(data.data(), 3, 4);

  const TensorView block = matrix.cols_from(1, 2).rows_from(1, 2);

  EXPECT_EQ(block.row<float>(0)[0], 5.0F);
  EXPECT_EQ(block.row<float>(1)[1], 10.0F);
  EXPECT_FALSE(block.is_contiguous());
  EXPECT_EQ(block.count(), 4);
  EXPECT_EQ(block.bytes(), 16U);
}

TEST(TensorView, IsContiguousWithASingleRow) {
  const std::array<float, 12> data{};
  const ConstTensorView matrix = matrix_view(data.data(), 3, 4);

  EXPECT_TRUE(matrix.is_contiguous());
  EXPECT_TRUE(matrix.cols_from(1, 2).rows_from(0, 1).is_contiguous());
}

TEST(TensorView, SaysItsDtypeShapeAndStride) {
  std::array<Bfloat16, 8> data{};
  const TensorView matrix = matrix_view(data.data(), 2, 4);

  EXPECT_EQ(to_string(matrix), "bf16[2, 4]");
  EXPECT_EQ(to_string(matrix.cols_from(0, 3)), "bf16[2, 3]/4");
}

TEST(TensorView, IsNoneByDefault) {
  EXPECT_TRUE(TensorView().is_none());
  EXPECT_EQ(TensorView().count(), 0);
}

}  // namespace
}  // namespace muster
