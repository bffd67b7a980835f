#include "kernels/ops/embedding.hpp"

#include "kernels/ops/check.hpp"
#include "kernels/ops/elementwise.hpp"
#include "kernels/ops/op_table.hpp"

namespace muster::kernels {

void embedding(Device& device, const EmbeddingArgs& args) {
  const Check check("embedding");
  const Argument y{"y", args.y};
  const Argument table{"table", args.table};
  const Argument tokens{"tokens", args.tokens};
  for (const Argument* argument : {&y, &table, &tokens}) check.is_given(*argument);
  check.is_float(y);
  check.same_dtype(table, y);
  check.has_dtype(tokens, Dtype::i32);
  check.has_shape(tokens, 1, args.y.rows, y);
  check.has_shape(table, args.table.rows, args.y.cols, y);
  check.disjoint(y, table);
  check.disjoint(y, tokens);
  if (args.y.count() == 0) return;
  check.kernel(device, device.ops().embedding)(device, args);
}

void embedding_backward(Device& device, const EmbeddingBackwardArgs& args) {
  const Check check("embedding_backward");
  const Argument dtable{"dtable", args.dtable};
  const Argument dy{"dy", args.dy};
  const Argument tokens{"tokens", args.tokens};
  for (const Argument* argument : {&dtable, &dy, &tokens}) check.is_given(*argument);
  check.has_dtype(dtable, Dtype::f32);
  check.is_float(dy);
  check.has_dtype(tokens, Dtype::i32);
  check.has_shape(tokens, 1, args.dy.rows, dy);
  check.has_shape(dtable, args.dtable.rows, args.dy.cols, dy);
  check.disjoint(dtable, dy);
  check.disjoint(dtable, tokens);
  if (args.dy.count() == 0) {
    if (!args.accumulate) fill(device, {args.dtable, 0.0});
    return;
  }
  check.kernel(device, device.ops().embedding_backward)(device, args);
}

}  // namespace muster::kernels
