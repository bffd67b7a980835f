#include "kernels/ops/geglu.hpp"

#include "kernels/ops/check.hpp"
#include "kernels/ops/op_table.hpp"

namespace muster::kernels {

void geglu(Device& device, const GegluArgs& args) {
  const Check check("geglu");
  const Argument h{"h", args.h};
  const Argument gate{"gate", args.gate};
  const Argument up{"up", args.up};
  check.is_given(h);
  check.is_float(h);
  for (const Argument* input : {&gate, &up}) {
    check.is_given(*input);
    check.same_shape(*input, h);
    check.same_dtype(*input, h);
    check.same_or_disjoint(h, *input);
  }
  if (args.h.count() == 0) return;
  check.kernel(device, device.ops().geglu)(device, args);
}

void geglu_backward(Device& device, const GegluBackwardArgs& args) {
  const Check check("geglu_backward");
  const Argument dgate{"dgate", args.dgate};
  const Argument dup{"dup", args.dup};
  const Argument dh{"dh", args.dh};
  const Argument gate{"gate", args.gate};
  const Argument up{"up", args.up};
  check.is_float(dh);
  for (const Argument* argument : {&dh, &dgate, &dup, &gate, &up}) {
    check.is_given(*argument);
    check.same_shape(*argument, dh);
    check.same_dtype(*argument, dh);
  }
  check.same_or_disjoint(dgate, gate);
  check.same_or_disjoint(dup, up);
  check.same_or_disjoint(dup, dh);
  check.disjoint(dgate, dup);
  check.disjoint(dgate, dh);
  check.disjoint(dgate, up);
  check.disjoint(dup, gate);
  if (args.dh.count() == 0) return;
  check.kernel(device, device.ops().geglu_backward)(device, args);
}

}  // namespace muster::kernels
