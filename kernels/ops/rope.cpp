#include "kernels/ops/rope.hpp"

#include <fmt/format.h>

#include "kernels/ops/check.hpp"
#include "kernels/ops/op_table.hpp"

namespace muster::kernels {

void rope(Device& device, const RopeArgs& args) {
  const Check check("rope");
  const Argument x{"x", args.x};
  const Argument positions{"positions", args.positions};
  const Argument cos{"cos", args.cos};
  const Argument sin{"sin", args.sin};
  for (const Argument* argument : {&x, &positions, &cos, &sin}) check.is_given(*argument);
  check.is_float(x);
  check.has_dtype(positions, Dtype::i32);
  check.has_shape(positions, 1, args.x.rows, x);
  check.that(args.head_dim > 0 && args.head_dim % 2 == 0 && args.x.cols % args.head_dim == 0, [&] {
    return fmt::format("head_dim {} must be even and divide the columns of x {}", args.head_dim,
                       muster::to_string(args.x));
  });
  check.has_shape(cos, args.cos.rows, args.head_dim / 2);
  check.same_shape(sin, cos);
  check.has_dtype(cos, Dtype::f32);
  check.has_dtype(sin, Dtype::f32);
  for (const Argument* input : {&positions, &cos, &sin}) check.disjoint(x, *input);
  if (args.x.count() == 0) return;
  check.kernel(device, device.ops().rope)(device, args);
}

}  // namespace muster::kernels
