#include "kernels/ops/rms_norm.hpp"

#include <fmt/format.h>

#include "kernels/ops/check.hpp"
#include "kernels/ops/elementwise.hpp"
#include "kernels/ops/op_table.hpp"

namespace muster::kernels {
namespace {

/// `a` is a contiguous [1, n] vector of `dtype`, and `n` follows from `like`.
void check_vector(const Check& check, const Argument& a, Dtype dtype, std::int64_t n,
                  const Argument& like) {
  check.is_given(a);
  check.has_dtype(a, dtype);
  check.has_shape(a, 1, n, like);
}

void check_addend(const Check& check, const RmsNormArgs& args) {
  const Argument x{"x", args.x};
  const Argument y{"y", args.y};
  const Argument addend{"addend", args.addend};
  const Argument sum{"sum", args.sum};
  check.that(args.addend.is_none() == args.sum.is_none() || args.x.count() == 0, [&] {
    return fmt::format("addend {} and sum {} go together: give both or neither",
                       muster::to_string(args.addend), muster::to_string(args.sum));
  });
  if (args.addend.is_none()) return;
  for (const Argument* argument : {&addend, &sum}) {
    check.is_given(*argument);
    check.same_shape(*argument, x);
    check.same_dtype(*argument, x);
  }
  check.same_or_disjoint(sum, x);
  check.same_or_disjoint(sum, addend);
  check.disjoint(sum, y);
  check.disjoint(y, addend);
  check.disjoint(sum, {"gain", args.gain});
}

}  // namespace

void rms_norm(Device& device, const RmsNormArgs& args) {
  const Check check("rms_norm");
  const Argument x{"x", args.x};
  const Argument y{"y", args.y};
  const Argument gain{"gain", args.gain};
  check.is_given(x);
  check.is_given(y);
  check.is_float(x);
  check.same_shape(y, x);
  check.same_dtype(y, x);
  check_vector(check, gain, args.x.dtype, args.x.cols, x);
  check.same_or_disjoint(y, x);
  check.disjoint(y, gain);
  if (!args.rstd.is_none()) {
    const Argument rstd{"rstd", args.rstd};
    check_vector(check, rstd, Dtype::f32, args.x.rows, x);
    check.disjoint(rstd, x);
    check.disjoint(rstd, y);
  }
  check_addend(check, args);
  if (args.x.count() == 0) return;
  check.kernel(device, device.ops().rms_norm)(device, args);
}

void rms_norm_backward(Device& device, const RmsNormBackwardArgs& args) {
  const Check check("rms_norm_backward");
  const Argument dx{"dx", args.dx};
  const Argument dy{"dy", args.dy};
  const Argument x{"x", args.x};
  const Argument dgain{"dgain", args.dgain};
  const Argument addend{"addend", args.addend};
  check.is_float(x);
  for (const Argument* argument : {&x, &dx, &dy}) {
    check.is_given(*argument);
    check.same_shape(*argument, x);
    check.same_dtype(*argument, x);
  }
  check_vector(check, {"gain", args.gain}, args.x.dtype, args.x.cols, x);
  check_vector(check, {"rstd", args.rstd}, Dtype::f32, args.x.rows, x);
  check.same_or_disjoint(dx, dy);
  check.disjoint(dx, x);
  if (!args.addend.is_none()) {
    check.is_given(addend);
    check.same_shape(addend, x);
    check.same_dtype(addend, x);
    check.same_or_disjoint(dx, addend);
  }
  if (!args.dgain.is_none()) {
    check_vector(check, dgain, Dtype::f32, args.x.cols, x);
    for (const Argument* argument : {&dx, &dy, &x}) check.disjoint(dgain, *argument);
  }
  if (args.x.count() == 0) {
    if (!args.accumulate) fill(device, {args.dgain, 0.0});
    return;
  }
  check.kernel(device, device.ops().rms_norm_backward)(device, args);
}

}  // namespace muster::kernels
