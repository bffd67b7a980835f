#include "kernels/ops/softmax.hpp"

#include "kernels/ops/check.hpp"
#include "kernels/ops/elementwise.hpp"
#include "kernels/ops/op_table.hpp"

namespace muster::kernels {
namespace {

/// `a` is a vector of `dtype` with one element per row of logits.
void check_per_row(const Check& check, const Argument& a, Dtype dtype, std::int64_t rows,
                   const Argument& like) {
  check.is_given(a);
  check.has_dtype(a, dtype);
  check.has_shape(a, 1, rows, like);
}

}  // namespace

void softmax_statistics(Device& device, const SoftmaxStatisticsArgs& args) {
  const Check check("softmax_statistics");
  const Argument logits{"logits", args.logits};
  const Argument targets{"targets", args.targets};
  const Argument max{"max", args.max};
  const Argument sum{"sum", args.sum};
  const Argument target{"target", args.target};
  check.is_given(logits);
  check.is_float(logits);
  check_per_row(check, targets, Dtype::i32, args.logits.rows, logits);
  for (const Argument* output : {&max, &sum, &target}) {
    check_per_row(check, *output, Dtype::f32, args.logits.rows, logits);
    check.disjoint(*output, logits);
    check.disjoint(*output, targets);
  }
  check.disjoint(max, sum);
  check.disjoint(max, target);
  check.disjoint(sum, target);
  check.that(args.logits.cols > 0 || args.logits.rows == 0,
             [] { return "logits has rows without a column: a maximum needs one"; });
  if (args.logits.count() == 0) return;
  check.kernel(device, device.ops().softmax_statistics)(device, args);
}

void softmax_loss(Device& device, const SoftmaxLossArgs& args) {
  const Check check("softmax_loss");
  const Argument loss{"loss", args.loss};
  const Argument max{"max", args.max};
  check.is_given(loss);
  check.has_dtype(loss, Dtype::f64);
  check.has_shape(loss, 1, 1);
  check_per_row(check, max, Dtype::f32, args.max.cols, max);
  check_per_row(check, {"sum", args.sum}, Dtype::f32, args.max.cols, max);
  check_per_row(check, {"target", args.target}, Dtype::f32, args.max.cols, max);
  check_per_row(check, {"targets", args.targets}, Dtype::i32, args.max.cols, max);
  if (args.max.count() == 0) {
    if (!args.accumulate) fill(device, {args.loss, 0.0});
    return;
  }
  check.kernel(device, device.ops().softmax_loss)(device, args);
}

void softmax_gradient(Device& device, const SoftmaxGradientArgs& args) {
  const Check check("softmax_gradient");
  const Argument dlogits{"dlogits", args.dlogits};
  const Argument logits{"logits", args.logits};
  const Argument max{"max", args.max};
  const Argument sum{"sum", args.sum};
  const Argument targets{"targets", args.targets};
  const Argument seed{"seed", args.seed};
  check.is_given(dlogits);
  check.is_given(logits);
  check.is_float(dlogits);
  check.is_float(logits);
  check.same_shape(dlogits, logits);
  check.same_or_disjoint(dlogits, logits);
  check_per_row(check, max, Dtype::f32, args.logits.rows, logits);
  check_per_row(check, sum, Dtype::f32, args.logits.rows, logits);
  check_per_row(check, targets, Dtype::i32, args.logits.rows, logits);
  check.is_given(seed);
  check.has_dtype(seed, Dtype::f32);
  check.has_shape(seed, 1, 1);
  for (const Argument* input : {&max, &sum, &targets, &seed}) check.disjoint(dlogits, *input);
  if (args.logits.count() == 0) return;
  check.kernel(device, device.ops().softmax_gradient)(device, args);
}

}  // namespace muster::kernels
