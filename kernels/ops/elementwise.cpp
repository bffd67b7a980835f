#include "kernels/ops/elementwise.hpp"

#include "kernels/ops/check.hpp"
#include "kernels/ops/op_table.hpp"

namespace muster::kernels {

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
