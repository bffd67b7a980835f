#include "kernels/ops/matmul.hpp"

#include <fmt/format.h>

#include "kernels/ops/check.hpp"
#include "kernels/ops/elementwise.hpp"
#include "kernels/ops/op_table.hpp"

namespace muster::kernels {
namespace {

void check_bias(const Check& check, const MatmulArgs& args) {
  if (args.bias.is_none()) return;
  const Argument bias{"bias", args.bias};
  check.is_given(bias);
  check.same_dtype(bias, {"a", args.a});
  check.has_shape(bias, 1, args.c.cols, {"c", args.c});
  check.disjoint({"c", args.c}, bias);
}

void check_matmul(const Check& check, const MatmulArgs& args) {
  const Argument a{"a", args.a};
  const Argument b{"b", args.b};
  const Argument c{"c", args.c};
  for (const Argument* argument : {&a, &b, &c}) check.is_given(*argument);
  check.is_float(a);
  check.same_dtype(b, a);
  if (args.c.dtype != Dtype::f32) check.same_dtype(c, a);
  const std::int64_t m = args.transpose_a ? args.a.cols : args.a.rows;
  const std::int64_t k = args.transpose_a ? args.a.rows : args.a.cols;
  const std::int64_t b_k = args.transpose_b ? args.b.cols : args.b.rows;
  const std::int64_t n = args.transpose_b ? args.b.rows : args.b.cols;
  check.that(k == b_k, [&] {
    return fmt::format("op(a) has {} columns and op(b) {} rows (a is {}{}, b is {}{})", k, b_k,
                       muster::to_string(args.a), args.transpose_a ? " transposed" : "",
                       muster::to_string(args.b), args.transpose_b ? " transposed" : "");
  });
  check.has_shape(c, m, n, k == 0 ? c : a);
  check.disjoint(c, a);
  check.disjoint(c, b);
  check_bias(check, args);
}

/// c (+)= bias in every row: what is left of a product over no columns.
void matmul_over_nothing(Device& device, const MatmulArgs& args) {
  if (!args.accumulate) fill(device, {args.c, 0.0});
  if (args.bias.is_none()) return;
  for (std::int64_t row = 0; row < args.c.rows; ++row) {
    const TensorView c = args.c.rows_from(row, 1);
    if (c.dtype == Dtype::f32) {
      accumulate(device, {c, args.bias});
    } else {
      add(device, {c, c, args.bias});
    }
  }
}

}  // namespace

void matmul(Device& device, const MatmulArgs& args) {
  const Check check("matmul");
  check_matmul(check, args);
  if (args.c.count() == 0) return;
  if (args.a.count() == 0) return matmul_over_nothing(device, args);
  check.kernel(device, device.ops().matmul)(device, args);
}

void column_sum(Device& device, const ColumnSumArgs& args) {
  const Check check("column_sum");
  const Argument out{"out", args.out};
  const Argument x{"x", args.x};
  check.is_given(out);
  check.is_given(x);
  check.has_dtype(out, Dtype::f32);
  check.is_float(x);
  check.has_shape(out, 1, args.x.cols, x);
  check.disjoint(out, x);
  if (args.x.count() == 0) {
    if (!args.accumulate) fill(device, {args.out, 0.0});
    return;
  }
  check.kernel(device, device.ops().column_sum)(device, args);
}

}  // namespace muster::kernels
