#include "kernels/ops/attention.hpp"

#include <fmt/format.h>

#include "kernels/ops/check.hpp"
#include "kernels/ops/op_table.hpp"

namespace muster::kernels {
namespace {

/// What the two directions have in common.
struct Heads {
  ConstTensorView q;
  ConstTensorView k;
  ConstTensorView v;
  ConstTensorView lse;
  ConstTensorView bounds;
  std::int64_t heads;
  std::int64_t kv_heads;
};

void check_heads(const Check& check, const Heads& args) {
  const Argument q{"q", args.q};
  const Argument k{"k", args.k};
  const Argument v{"v", args.v};
  const Argument lse{"lse", args.lse};
  const Argument bounds{"bounds", args.bounds};
  for (const Argument* argument : {&q, &k, &v, &lse, &bounds}) check.is_given(*argument);
  check.is_float(q);
  check.that(args.heads > 0 && args.kv_heads > 0 && args.heads % args.kv_heads == 0 &&
                 args.q.cols % args.heads == 0,
             [&] {
               return fmt::format(
                   "{} heads must be a multiple of {} kv_heads and divide the columns of q {}",
                   args.heads, args.kv_heads, muster::to_string(args.q));
             });
  const std::int64_t kv_cols = args.q.cols / args.heads * args.kv_heads;
  for (const Argument* argument : {&k, &v}) {
    check.has_shape(*argument, args.q.rows, kv_cols, q);
    check.same_dtype(*argument, q);
  }
  check.has_dtype(lse, Dtype::f32);
  check.has_shape(lse, args.heads, args.q.rows, q);
  check.has_dtype(bounds, Dtype::i32);
  check.has_shape(bounds, 1, args.q.rows, q);
}

}  // namespace

void attention(Device& device, const AttentionArgs& args) {
  const Check check("attention");
  check_heads(check, {args.q, args.k, args.v, args.lse, args.bounds, args.heads, args.kv_heads});
  const Argument out{"out", args.out};
  const Argument lse{"lse", args.lse};
  const Argument q{"q", args.q};
  const Argument k{"k", args.k};
  const Argument v{"v", args.v};
  check.is_given(out);
  check.same_shape(out, q);
  check.same_dtype(out, q);
  check.disjoint(out, lse);
  for (const Argument* input : {&q, &k, &v}) {
    check.disjoint(out, *input);
    check.disjoint(lse, *input);
  }
  if (args.q.count() == 0) return;
  check.kernel(device, device.ops().attention)(device, args);
}

void attention_backward(Device& device, const AttentionBackwardArgs& args) {
  const Check check("attention_backward");
  check_heads(check, {args.q, args.k, args.v, args.lse, args.bounds, args.heads, args.kv_heads});
  const Argument q{"q", args.q};
  const Argument k{"k", args.k};
  const Argument inputs[] = {{"dout", args.dout}, {"out", args.out}, q, k,
                             {"v", args.v},       {"lse", args.lse}};
  const Argument outputs[] = {{"dq", args.dq}, {"dk", args.dk}, {"dv", args.dv}};
  for (const Argument* like_q : {&inputs[0], &inputs[1], &outputs[0]}) {
    check.is_given(*like_q);
    check.same_shape(*like_q, q);
    check.same_dtype(*like_q, q);
  }
  for (const Argument* like_k : {&outputs[1], &outputs[2]}) {
    check.is_given(*like_k);
    check.same_shape(*like_k, k);
    check.same_dtype(*like_k, k);
  }
  for (const Argument& output : outputs) {
    for (const Argument& input : inputs) check.disjoint(output, input);
  }
  check.disjoint(outputs[0], outputs[1]);
  check.disjoint(outputs[0], outputs[2]);
  check.disjoint(outputs[1], outputs[2]);
  if (args.q.count() == 0) return;
  check.kernel(device, device.ops().attention_backward)(device, args);
}

}  // namespace muster::kernels
