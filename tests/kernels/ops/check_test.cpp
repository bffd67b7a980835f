#include "kernels/ops/check.hpp"

#include <functional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/ops/op_table.hpp"
#include "tests/support/tensor.hpp"

namespace muster::test {
namespace {

using testing::HasSubstr;

/// A device that has no kernel at all: what an op does with it, its checks do.
class NoKernels final : public kernels::Device {
 public:
  std::string name() const override { return "bare"; }
  std::string description() const override { return "no kernels"; }
  int threads() const noexcept override { return 1; }
  const kernels::OpTable& ops() const noexcept override { return table_; }
  MemorySource& memory() noexcept override { std::abort(); }
  std::span<std::byte> scratch(std::size_t) override { return {}; }
  std::size_t scratch_bytes() const noexcept override { return 0; }
  void synchronize() override {}

 private:
  kernels::OpTable table_{};
};

class Checks : public testing::Test {
 protected:
  /// Views of one large block: the memory is never touched.
  TensorView tensor(Dtype dtype, std::int64_t rows, std::int64_t cols) {
    next_ += 1 << 20;
    return {memory_.data() + next_ - (1 << 20), dtype, rows, cols};
  }
  TensorView f32(std::int64_t rows, std::int64_t cols) { return tensor(Dtype::f32, rows, cols); }

  std::string error_of(const std::function<void()>& op, ErrorCode code) {
    try {
      op();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), code) << error.what();
      return error.what();
    }
    return "nothing was thrown";
  }
  std::string refusal_of(const std::function<void()>& op) {
    return error_of(op, ErrorCode::invalid_argument);
  }

  NoKernels device_;

 private:
  std::vector<std::byte> memory_{std::size_t{32} << 20};
  std::size_t next_ = 0;
};

TEST_F(Checks, NameOpArgumentsAndBothShapes) {
  const std::string text = refusal_of([&] {
    kernels::add(device_, {f32(3, 4), f32(3, 4), f32(3, 5)});
  });

  EXPECT_THAT(text, HasSubstr("add: b is f32[3, 5]"));
  EXPECT_THAT(text, HasSubstr("c f32[3, 4]"));
}

TEST_F(Checks, SayWhenADeviceHasNoKernel) {
  const std::string text = error_of(
      [&] {
        kernels::add(device_, {f32(3, 4), f32(3, 4), f32(3, 4)});
      },
      ErrorCode::unsupported);

  EXPECT_THAT(text, HasSubstr("device bare has no kernel for add"));
}

TEST_F(Checks, RefuseAViewWithoutData) {
  const ConstTensorView missing(nullptr, Dtype::f32, 3, 4);
  EXPECT_THAT(refusal_of([&] {
                kernels::cast(device_, {f32(3, 4), missing});
              }),
              HasSubstr("x is f32[3, 4] without data"));
}

TEST_F(Checks, RefuseRowsThatOverlapEachOther) {
  TensorView x = f32(3, 4);
  x.stride = 2;
  EXPECT_THAT(refusal_of([&] { kernels::fill(device_, {x, 0.0}); }), HasSubstr("stride 2"));
}

TEST_F(Checks, RefuseDtypesAnOpDoesNotKnow) {
  EXPECT_THAT(refusal_of([&] {
                kernels::cast(device_, {f32(1, 4), tensor(Dtype::i32, 1, 4)});
              }),
              HasSubstr("x is i32[1, 4], but must be of f32, f16 or bf16"));
  EXPECT_THAT(
      refusal_of([&] {
        kernels::accumulate(device_, {tensor(Dtype::bf16, 1, 4), tensor(Dtype::bf16, 1, 4)});
      }),
      HasSubstr("sum is bf16[1, 4], but must be of f32"));
}

TEST_F(Checks, LetAnOutputBeAnInputButNotHalfOfIt) {
  const TensorView x = f32(1, 100);
  const TensorView shifted = f32(1, 200).cols_from(0, 100);
  const TensorView half_way(shifted.data + 4, Dtype::f32, 1, 100);

  EXPECT_THAT(error_of(
                  [&] {
                    kernels::add(device_, {x, x, f32(1, 100)});
                  },
                  ErrorCode::unsupported),
              HasSubstr("no kernel"));
  EXPECT_THAT(refusal_of([&] {
                kernels::add(device_, {shifted, f32(1, 100), half_way});
              }),
              HasSubstr("overlaps b"));
}

TEST_F(Checks, OfMatmulCompareTheInnerSizes) {
  EXPECT_THAT(refusal_of([&] {
                kernels::matmul(
                    device_,
                    {.c = f32(2, 3), .a = f32(2, 5), .b = f32(4, 3), .transpose_b = false});
              }),
              HasSubstr("op(a) has 5 columns and op(b) 4 rows"));
  EXPECT_THAT(refusal_of([&] {
                kernels::matmul(device_, {.c = f32(2, 4), .a = f32(2, 5), .b = f32(5, 3)});
              }),
              HasSubstr("c is f32[2, 4], but must be [2, 3]"));
  EXPECT_THAT(refusal_of([&] {
                kernels::matmul(device_, {.c = tensor(Dtype::f16, 2, 3),
                                          .a = tensor(Dtype::bf16, 2, 5),
                                          .b = tensor(Dtype::bf16, 5, 3)});
              }),
              HasSubstr("one dtype"));
  EXPECT_THAT(refusal_of([&] {
                kernels::matmul(
                    device_, {.c = f32(2, 3), .a = f32(2, 5), .b = f32(5, 3), .bias = f32(1, 2)});
              }),
              HasSubstr("bias is f32[1, 2], but must be [1, 3]"));
}

TEST_F(Checks, OfReduceLookAtEverySourceAndDestination) {
  const std::vector<ConstTensorView> unequal{f32(1, 8), f32(1, 9)};
  const std::vector<ConstTensorView> equal{f32(1, 8), f32(1, 8)};
  const std::vector<TensorView> wrong{tensor(Dtype::bf16, 1, 8)};
  const std::vector<TensorView> right{f32(1, 8)};
  const TensorView one = f32(1, 8);
  const std::vector<TensorView> twice{one, one};

  EXPECT_THAT(refusal_of([&] {
                kernels::reduce(device_, {right, unequal});
              }),
              HasSubstr("a source is f32[1, 9]"));
  EXPECT_THAT(refusal_of([&] {
                kernels::reduce(device_, {wrong, equal});
              }),
              HasSubstr("a destination is bf16[1, 8]"));
  EXPECT_THAT(refusal_of([&] {
                kernels::reduce(device_, {twice, equal});
              }),
              HasSubstr("overlaps another destination"));
  EXPECT_THAT(refusal_of([&] { kernels::reduce(device_, {right, {}}); }), HasSubstr("0 sources"));

  const std::vector<TensorView> half_way{f32(1, 16).cols_from(4, 8)};
  const ConstTensorView before(half_way[0].data - 16, Dtype::f32, 1, 8);
  const std::vector<ConstTensorView> overlapping{f32(1, 8), before};
  EXPECT_THAT(refusal_of([&] {
                kernels::reduce(device_, {half_way, overlapping});
              }),
              HasSubstr("overlaps a source"));
  const std::vector<TensorView> in_place{half_way[0]};
  const std::vector<ConstTensorView> with_itself{f32(1, 8), half_way[0]};
  EXPECT_THAT(error_of(
                  [&] {
                    kernels::reduce(device_, {in_place, with_itself});
                  },
                  ErrorCode::unsupported),
              HasSubstr("no kernel for reduce"));
}

TEST_F(Checks, OfAdamwRefuseAnF32ComputeCopyAndAMissingStep) {
  const kernels::AdamwStep step;
  kernels::AdamwArgs args{
      .master = f32(1, 8), .m = f32(1, 8), .v = f32(1, 8), .grad = f32(1, 8), .step = &step};
  args.compute = f32(1, 8);
  EXPECT_THAT(refusal_of([&] { kernels::adamw(device_, args); }), HasSubstr("f16 or bf16"));

  args.compute = TensorView();
  args.step = nullptr;
  EXPECT_THAT(refusal_of([&] { kernels::adamw(device_, args); }), HasSubstr("step is null"));
}

TEST_F(Checks, OfRopeWantAnEvenHeadDimThatDividesTheColumns) {
  for (const std::int64_t head_dim : {0, 3, 8}) {
    EXPECT_THAT(refusal_of([&] {
                  kernels::rope(device_, {.x = f32(5, 12),
                                          .positions = tensor(Dtype::i32, 1, 5),
                                          .cos = f32(9, 2),
                                          .sin = f32(9, 2),
                                          .head_dim = head_dim});
                }),
                HasSubstr("head_dim"));
  }
}

TEST_F(Checks, OfRmsNormWantAddendAndSumTogether) {
  EXPECT_THAT(refusal_of([&] {
                kernels::rms_norm(
                    device_,
                    {.y = f32(5, 8), .x = f32(5, 8), .gain = f32(1, 8), .addend = f32(5, 8)});
              }),
              HasSubstr("addend"));
}

TEST_F(Checks, OfAttentionRelateHeadsToColumns) {
  kernels::AttentionArgs args{.out = f32(5, 12),
                              .lse = f32(4, 5),
                              .q = f32(5, 12),
                              .k = f32(5, 6),
                              .v = f32(5, 6),
                              .bounds = tensor(Dtype::i32, 1, 5),
                              .heads = 4,
                              .kv_heads = 2};
  EXPECT_THAT(error_of([&] { kernels::attention(device_, args); }, ErrorCode::unsupported),
              HasSubstr("no kernel for attention"));

  args.kv_heads = 3;
  EXPECT_THAT(refusal_of([&] { kernels::attention(device_, args); }), HasSubstr("kv_heads"));

  args.kv_heads = 1;
  EXPECT_THAT(refusal_of([&] { kernels::attention(device_, args); }),
              HasSubstr("k is f32[5, 6], but must be [5, 3] to go with q f32[5, 12]"));
}

TEST_F(Checks, OfSwigluBackwardLetGradientsTakeThePlaceOfInputs) {
  const TensorView gate = f32(5, 8);
  const TensorView up = f32(5, 8);
  EXPECT_THAT(error_of(
                  [&] {
                    kernels::swiglu_backward(device_, {gate, up, f32(5, 8), gate, up});
                  },
                  ErrorCode::unsupported),
              HasSubstr("no kernel"));
  EXPECT_THAT(refusal_of([&] {
                kernels::swiglu_backward(device_, {up, gate, f32(5, 8), gate, up});
              }),
              HasSubstr("overlaps"));
}

TEST_F(Checks, OfSoftmaxWantOneValuePerRow) {
  EXPECT_THAT(refusal_of([&] {
                kernels::softmax_statistics(device_, {.max = f32(1, 5),
                                                      .sum = f32(1, 5),
                                                      .target = f32(1, 4),
                                                      .logits = f32(5, 100),
                                                      .targets = tensor(Dtype::i32, 1, 5)});
              }),
              HasSubstr("target is f32[1, 4], but must be [1, 5]"));
}

/// No kernel runs, or the device would say that it has none.
TEST_F(Checks, ReturnEarlyWhenThereIsNothingToDo) {
  const TensorView none = f32(0, 8);
  const TensorView no_ids = tensor(Dtype::i32, 1, 0);
  const TensorView no_values = f32(1, 0);
  const std::vector<ConstTensorView> sources{no_values};
  const std::vector<TensorView> destinations{f32(1, 0)};
  const kernels::AdamwStep step;

  EXPECT_NO_THROW(kernels::add(device_, {f32(0, 8), none, f32(0, 8)}));
  EXPECT_NO_THROW(kernels::cast(device_, {f32(0, 8), none}));
  EXPECT_NO_THROW(kernels::fill(device_, {none, 1.0}));
  EXPECT_NO_THROW(kernels::accumulate(device_, {f32(0, 8), none}));
  EXPECT_NO_THROW(kernels::matmul(device_, {.c = none, .a = f32(0, 5), .b = f32(5, 8)}));
  EXPECT_NO_THROW(kernels::reduce(device_, {destinations, sources}));
  EXPECT_NO_THROW(kernels::reduce(device_, {{}, sources}));
  EXPECT_NO_THROW(kernels::adamw(
      device_,
      {.master = no_values, .m = f32(1, 0), .v = f32(1, 0), .grad = f32(1, 0), .step = &step}));
  EXPECT_NO_THROW(kernels::embedding(device_, {none, f32(100, 8), no_ids}));
  EXPECT_NO_THROW(kernels::rms_norm(device_, {.y = f32(0, 8), .x = none, .gain = f32(1, 8)}));
  EXPECT_NO_THROW(kernels::rope(
      device_,
      {.x = none, .positions = no_ids, .cos = f32(9, 2), .sin = f32(9, 2), .head_dim = 4}));
  EXPECT_NO_THROW(kernels::swiglu(device_, {f32(0, 8), none, f32(0, 8)}));
}

/// An empty sum is zero, and it is written, unless it is to be added to what is there.
TEST(EmptySums, AreZero) {
  const auto device = open_cpu("");
  const Tensor none(Dtype::f32, 0, 8);
  const Tensor no_ids(Dtype::i32, 1, 0);
  const Tensor no_rows(Dtype::f32, 1, 0);
  Tensor table(Dtype::f32, 3, 8);
  Tensor vector(Dtype::f32, 1, 8);
  Tensor norm(Dtype::f64, 1, 2);
  Tensor loss(Dtype::f64, 1, 1);
  for (const bool accumulate : {true, false}) {
    for (Tensor* out : {&table, &vector, &norm, &loss}) kernels::fill(*device, {out->view(), 7.0});

    kernels::embedding_backward(*device, {table.view(), none.view(), no_ids.view(), accumulate});
    kernels::column_sum(*device, {vector.view(), none.view(), accumulate});
    kernels::norm_squared(*device, {norm.view(), none.view(), accumulate});
    kernels::softmax_loss(*device, {loss.view(), no_rows.view(), no_rows.view(), no_rows.view(),
                                    no_ids.view(), accumulate});

    const double expected = accumulate ? 7.0 : 0.0;
    for (const Tensor* out : {&table, &vector, &norm, &loss}) {
      EXPECT_EQ(out->at(out->rows() - 1, out->cols() - 1), expected);
    }
  }
}

struct OverlapCase {
  const char* name;
  ConstTensorView a;
  ConstTensorView b;
  bool overlaps;
};

std::vector<OverlapCase> overlap_cases() {
  static std::vector<float> memory(1000);
  const TensorView matrix = matrix_view(memory.data(), 10, 20);
  const TensorView vector = vector_view(memory.data(), 1000);
  const TensorView other_stride(matrix.data, Dtype::f32, 3, 4, 7);
  return {
      {"same", matrix, matrix, true},
      {"neighbours", vector.cols_from(0, 10), vector.cols_from(10, 10), false},
      {"one_shared", vector.cols_from(0, 11), vector.cols_from(10, 10), true},
      {"column_blocks", matrix.cols_from(0, 8), matrix.cols_from(8, 12), false},
      {"column_blocks_one_shared", matrix.cols_from(0, 9), matrix.cols_from(8, 12), true},
      {"column_blocks_reversed", matrix.cols_from(12, 8), matrix.cols_from(0, 12), false},
      {"column_blocks_reversed_shared", matrix.cols_from(11, 8), matrix.cols_from(0, 12), true},
      {"column_blocks_of_other_rows", matrix.cols_from(0, 8).rows_from(0, 5),
       matrix.cols_from(8, 4).rows_from(3, 5), false},
      {"wraps_into_the_next_row", matrix.cols_from(0, 4).rows_from(0, 5),
       TensorView(matrix.data + 18 * 4, Dtype::f32, 3, 4, 20), true},
      {"row_blocks", matrix.rows_from(0, 5), matrix.rows_from(5, 5), false},
      {"other_stride", other_stride, matrix.cols_from(0, 4), true},
      {"empty", matrix.cols_from(0, 0), matrix, false},
  };
}

class Overlaps : public testing::TestWithParam<OverlapCase> {};

TEST_P(Overlaps, IsSymmetricAndRight) {
  EXPECT_EQ(kernels::overlaps(GetParam().a, GetParam().b), GetParam().overlaps);
  EXPECT_EQ(kernels::overlaps(GetParam().b, GetParam().a), GetParam().overlaps);
}

INSTANTIATE_TEST_SUITE_P(All, Overlaps, testing::ValuesIn(overlap_cases()),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace muster::test
