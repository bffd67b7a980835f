#include "runtime/program/differentiate.hpp"

#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/program/op_kind.hpp"

namespace muster::runtime {
namespace {

using testing::ElementsAre;

std::vector<std::string> kinds_of(const std::vector<Op>& ops) {
  std::vector<std::string> kinds;
  for (const Op& op : ops) kinds.emplace_back(op.kind->name());
  return kinds;
}

ValueId weight(List& list, std::int64_t rows, std::int64_t cols) {
  return list.add_value({.name = "w",
                         .rows = rows,
                         .cols = cols,
                         .dtype = Dtype::bf16,
                         .origin = Origin::parameter,
                         .index = 0});
}

/// Differentiates the ops of `list`, whose result is `output`; returns the backward ops.
std::vector<Op> backward_of(List& list, ValueId output, Differentiator& differentiator) {
  std::vector<Op> forward = std::exchange(list.ops, {});
  const Value value = list.value(output);
  differentiator.contribute(output, list.computed("dy", value.rows, value.cols, value.dtype));
  differentiator.run(forward);
  return list.ops;
}

TEST(Differentiate, TurnsALinearIntoItsTwoGradients) {
  List list;
  const ValueId x = list.computed("x", 4, 8, Dtype::bf16);
  const ValueId w = weight(list, 16, 8);
  const ValueId y = list.computed("y", 4, 16, Dtype::bf16);
  emit(list, "linear", {x, w, kNone}, {y});
  Differentiator differentiator(list);

  const std::vector<Op> backward = backward_of(list, y, differentiator);

  EXPECT_THAT(kinds_of(backward), ElementsAre("linear_weight_gradient", "linear_input_gradient"));
  const Value& dw = list.value(backward[0].outputs[0]);
  EXPECT_EQ(dw.origin, Origin::gradient);
  EXPECT_EQ(dw.dtype, Dtype::f32);
  const Value& dx = list.value(differentiator.gradient(x));
  EXPECT_EQ(dx.dtype, Dtype::bf16);
  EXPECT_EQ(dx.cols, 8);
}

TEST(Differentiate, SumsTheGradientsOfAValueThatIsUsedTwice) {
  List list;
  const ValueId x = list.computed("x", 4, 8, Dtype::f32);
  const ValueId w = weight(list, 8, 8);
  const ValueId a = list.computed("a", 4, 8, Dtype::f32);
  const ValueId b = list.computed("b", 4, 8, Dtype::f32);
  const ValueId y = list.computed("y", 4, 8, Dtype::f32);
  emit(list, "linear", {x, w, kNone}, {a});
  emit(list, "linear", {x, w, kNone}, {b});
  emit(list, "add", {a, b}, {y});
  Differentiator differentiator(list);

  const std::vector<Op> backward = backward_of(list, y, differentiator);

  EXPECT_THAT(kinds_of(backward),
              ElementsAre("linear_weight_gradient", "linear_input_gradient",
                          "linear_weight_gradient", "linear_input_gradient", "add"));
  EXPECT_EQ(differentiator.gradient(x), backward.back().outputs[0]);
}

TEST(Differentiate, AddsTheResidualGradientInsideTheNorm) {
  List list;
  const ValueId x = list.computed("x", 4, 8, Dtype::f32);
  const ValueId gain = weight(list, 1, 8);
  const ValueId n = list.computed("n", 4, 8, Dtype::f32);
  const ValueId rstd = list.exact("rstd", 1, 4, Dtype::f32);
  const ValueId y = list.computed("y", 4, 8, Dtype::f32);
  emit(list, "rms_norm", {x, gain, kNone}, {n, rstd, kNone});
  emit(list, "add", {x, n}, {y});
  Differentiator differentiator(list);

  const std::vector<Op> backward = backward_of(list, y, differentiator);

  ASSERT_THAT(kinds_of(backward), ElementsAre("rms_norm_backward"));
  EXPECT_EQ(list.value(backward[0].inputs[4]).name, "dy");  // the residual's part
  EXPECT_EQ(differentiator.gradient(x), backward[0].outputs[0]);
}

TEST(Differentiate, WritesTheGradientsOfViewsSideBySide) {
  List list;
  const ValueId x = list.computed("x", 4, 8, Dtype::f32);
  const ValueId w = weight(list, 12, 8);
  const ValueId both = list.computed("both", 4, 12, Dtype::f32);
  const ValueId h = list.computed("h", 4, 6, Dtype::f32);
  emit(list, "linear", {x, w, kNone}, {both});
  emit(list, "swiglu", {list.column_view(both, "gate", 0, 6), list.column_view(both, "up", 6, 6)},
       {h});
  Differentiator differentiator(list);

  const std::vector<Op> backward = backward_of(list, h, differentiator);

  ASSERT_THAT(kinds_of(backward),
              ElementsAre("swiglu_backward", "linear_weight_gradient", "linear_input_gradient"));
  const ValueId dgate = backward[0].outputs[0];
  const ValueId dup = backward[0].outputs[1];
  EXPECT_EQ(list.root(dgate), list.root(dup));
  EXPECT_EQ(list.value(dup).col_begin, 6);
  EXPECT_EQ(backward[1].inputs[0], list.root(dgate));  // the matmul reads both at once
}

TEST(Differentiate, RotatesTheGradientBackInPlace) {
  List list;
  const ValueId x = list.computed("x", 4, 8, Dtype::f32);
  const ValueId w = weight(list, 8, 8);
  const ValueId q = list.computed("q", 4, 8, Dtype::f32);
  const ValueId table =
      list.add_value({.name = "cos", .rows = 4, .cols = 4, .origin = Origin::constant, .index = 0});
  const ValueId part = list.column_view(q, "part", 0, 8);
  const ValueId y = list.computed("y", 4, 8, Dtype::f32);
  emit(list, "linear", {x, w, kNone}, {q});
  emit(list, "rope", {part, table, table, table}, {part}, {{"head_dim", 8.0}});
  emit(list, "swiglu", {list.column_view(q, "a", 0, 4), list.column_view(q, "b", 4, 4)}, {y});
  Differentiator differentiator(list);

  const std::vector<Op> backward = backward_of(list, y, differentiator);

  ASSERT_THAT(kinds_of(backward), ElementsAre("swiglu_backward", "rope", "linear_weight_gradient",
                                              "linear_input_gradient"));
  EXPECT_TRUE(backward[1].attributes.is_set("inverse"));
  EXPECT_EQ(list.root(backward[1].inputs[0]), list.root(backward[0].outputs[0]));
}

TEST(Differentiate, LeavesOutOpsThatLeadToNoOutput) {
  List list;
  const ValueId x = list.computed("x", 4, 8, Dtype::f32);
  const ValueId unused = list.computed("unused", 4, 8, Dtype::f32);
  const ValueId y = list.computed("y", 4, 8, Dtype::f32);
  emit(list, "add", {x, x}, {unused});
  emit(list, "add", {x, x}, {y});
  Differentiator differentiator(list);

  const std::vector<Op> backward = backward_of(list, y, differentiator);

  EXPECT_THAT(kinds_of(backward), ElementsAre());
}

}  // namespace
}  // namespace muster::runtime
