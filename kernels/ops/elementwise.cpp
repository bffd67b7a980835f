#include "kernels/ops/elementwise.hpp"

#include <cmath>

#include <fmt/format.h>

#include "kernels/ops/check.hpp"
#include "kernels/ops/op_table.hpp"

namespace muster::kernels {
namespace {

/// Whether an element of `dtype` can hold `value`; floats can hold (or round) any.
bool can_hold(Dtype dtype, double value) noexcept {
  const auto is_whole_in = [value](double low, double high) {
    return value >= low && value <= high && std::trunc(value) == value;
  };
  switch (dtype) {
    case Dtype::i64: return is_whole_in(-0x1.0p63, 0x1.0p63 - 0x1.0p10);
    case Dtype::i32: return is_whole_in(-0x1.0p31, 0x1.0p31 - 1.0);
    case Dtype::i8: return is_whole_in(-128.0, 127.0);
    case Dtype::u8: return is_whole_in(0.0, 255.0);
    default: return true;
  }
}

}  // namespace

void add(Device& device, const AddArgs& args) {
  const Check check("add");
  const Argument c{"c", args.c};
  const Argument a{"a", args.a};
  const Argument b{"b", args.b};
  for (const Argument* argument : {&c, &a, &b}) check.is_given(*argument);
  check.is_float(c);
  for (const Argument* input : {&a, &b}) {
    check.same_shape(*input, c);
    check.same_dtype(*input, c);
    check.same_or_disjoint(c, *input);
  }
  if (args.c.count() == 0) return;
  check.kernel(device, device.ops().add)(device, args);
}

void cast(Device& device, const CastArgs& args) {
  const Check check("cast");
  const Argument y{"y", args.y};
  const Argument x{"x", args.x};
  for (const Argument* argument : {&y, &x}) {
    check.is_given(*argument);
    check.is_float(*argument);
  }
  check.same_shape(x, y);
  check.disjoint(y, x);
  if (args.y.count() == 0) return;
  check.kernel(device, device.ops().cast)(device, args);
}

void fill(Device& device, const FillArgs& args) {
  const Check check("fill");
  check.is_given({"x", args.x});
  check.that(can_hold(args.x.dtype, args.value), [&] {
    return fmt::format("x {} cannot hold {}", muster::to_string(args.x), args.value);
  });
  if (args.x.count() == 0) return;
  check.kernel(device, device.ops().fill)(device, args);
}

void accumulate(Device& device, const AccumulateArgs& args) {
  const Check check("accumulate");
  const Argument sum{"sum", args.sum};
  const Argument addend{"addend", args.addend};
  check.is_given(sum);
  check.is_given(addend);
  check.has_dtype(sum, Dtype::f32);
  check.is_float(addend);
  check.same_shape(addend, sum);
  check.same_or_disjoint(sum, addend);
  if (args.sum.count() == 0) return;
  check.kernel(device, device.ops().accumulate)(device, args);
}

}  // namespace muster::kernels
