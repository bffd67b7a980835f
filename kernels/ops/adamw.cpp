#include "kernels/ops/adamw.hpp"

#include <fmt/format.h>

#include "kernels/ops/check.hpp"
#include "kernels/ops/op_table.hpp"

namespace muster::kernels {
namespace {

void check_compute(const Check& check, const AdamwArgs& args) {
  if (args.compute.is_none()) return;
  const Argument compute{"compute", args.compute};
  check.is_given(compute);
  check.that(args.compute.dtype == Dtype::f16 || args.compute.dtype == Dtype::bf16, [&] {
    return fmt::format("compute is {}, but must be of f16 or bf16, or none: f32 is the master",
                       muster::to_string(args.compute));
  });
  check.same_shape(compute, {"master", args.master});
}

}  // namespace

void adamw(Device& device, const AdamwArgs& args) {
  const Check check("adamw");
  const Argument arguments[] = {{"master", args.master},
                                {"m", args.m},
                                {"v", args.v},
                                {"grad", args.grad},
                                {"compute", args.compute}};
  check.is_given(arguments[0]);
  for (const Argument* f32 : {&arguments[0], &arguments[1], &arguments[2], &arguments[3]}) {
    check.is_given(*f32);
    check.has_dtype(*f32, Dtype::f32);
    check.has_shape(*f32, 1, args.master.cols, arguments[0]);
  }
  check_compute(check, args);
  for (std::size_t i = 0; i < std::size(arguments); ++i) {
    for (std::size_t j = 0; j < i; ++j) check.disjoint(arguments[i], arguments[j]);
  }
  check.that(args.step != nullptr, [] { return "step is null"; });
  if (args.master.count() == 0) return;
  check.kernel(device, device.ops().adamw)(device, args);
}

}  // namespace muster::kernels
