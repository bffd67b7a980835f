#include "runtime/program/loss.hpp"

#include <algorithm>
#include <utility>

#include "runtime/program/differentiate.hpp"
#include "runtime/program/op_kind.hpp"

namespace muster::runtime {
namespace {

struct Chunk {
  ValueId rows;  // of the head's input
  ValueId targets;
  ValueId logits;
  ValueId max;
  ValueId sum;
};

/// logits -> statistics -> loss for rows [begin, begin + n).
Chunk emit_chunk_loss(Model& model, ValueId targets, std::int64_t begin, std::int64_t n) {
  List& list = model.head.list;
  Chunk chunk{};
  chunk.rows = list.row_view(model.head.output, "rows", begin, n);
  chunk.targets = list.column_view(targets, "targets", begin, n);
  chunk.logits = list.exact("logits", n, model.vocab, Dtype::f32);
  emit(list, "linear", {chunk.rows, model.head_weight, kNone}, {chunk.logits});
  chunk.max = list.exact("max", 1, n, Dtype::f32);
  chunk.sum = list.exact("sum", 1, n, Dtype::f32);
  const ValueId target = list.exact("target", 1, n, Dtype::f32);
  emit(list, "softmax_statistics", {chunk.logits, chunk.targets}, {chunk.max, chunk.sum, target});
  const ValueId loss = list.add_value({.name = "loss",
                                       .rows = 1,
                                       .cols = 1,
                                       .dtype = Dtype::f64,
                                       .origin = Origin::state,
                                       .index = static_cast<std::int32_t>(StateField::loss),
                                       .keeps_dtype = true});
  emit(list, "softmax_loss", {chunk.max, chunk.sum, target, chunk.targets}, {loss});
  return chunk;
}

/// The gradient of the chunk's logits, carried back through its linear.
void emit_chunk_gradient(Model& model, Differentiator& differentiator, const Chunk& chunk,
                         ValueId seed) {
  List& list = model.head.list;
  const Value logits = list.value(chunk.logits);
  const Dtype dtype = list.value(model.head.output).dtype;
  const ValueId dlogits = list.computed("d_logits", logits.rows, logits.cols, dtype);
  emit(list, "softmax_gradient", {chunk.logits, chunk.max, chunk.sum, chunk.targets, seed},
       {dlogits});
  differentiator.contribute(chunk.logits, dlogits);
  differentiator.run(
      {{&op_kind("linear"), {chunk.rows, model.head_weight, kNone}, {chunk.logits}, {}}});
}

template <typename Body>
void for_each_chunk(const Model& model, Body&& body) {
  const std::int64_t size = loss_chunk_rows(model.tokens, model.vocab);
  for (std::int64_t begin = 0; begin < model.tokens; begin += size) {
    body(begin, std::min(size, model.tokens - begin));
  }
}

void differentiate_head(Model& model) {
  Segment& head = model.head;
  const ValueId targets = frame_value(head.list, FrameField::targets, model.tokens);
  const ValueId seed = frame_value(head.list, FrameField::loss_seed, model.tokens);
  std::vector<Op> forward = std::exchange(head.list.ops, {});
  Differentiator differentiator(head.list);
  for_each_chunk(model, [&](std::int64_t begin, std::int64_t n) {
    const Chunk chunk = emit_chunk_loss(model, targets, begin, n);
    emit_chunk_gradient(model, differentiator, chunk, seed);
  });
  differentiator.run(forward);
  head.backward = std::exchange(head.list.ops, std::move(forward));
  head.input_gradient = differentiator.gradient(head.input);
}

void differentiate_body(Segment& segment) {
  List& list = segment.list;
  std::vector<Op> forward = std::exchange(list.ops, {});
  const Value output = list.value(segment.output);
  segment.output_gradient =
      list.computed("d_" + output.name, output.rows, output.cols, output.dtype);
  Differentiator differentiator(list);
  differentiator.contribute(segment.output, segment.output_gradient);
  differentiator.run(forward);
  segment.backward = std::exchange(list.ops, std::move(forward));
  if (segment.input != kNone) segment.input_gradient = differentiator.gradient(segment.input);
}

}  // namespace

std::int64_t loss_chunk_rows(std::int64_t tokens, std::int64_t vocab) {
  // 8 MiB of f32: stays near the caches.
  constexpr std::int64_t kChunkElements = std::int64_t{2} * 1024 * 1024;
  const std::int64_t rows = std::max<std::int64_t>(16, kChunkElements / vocab / 16 * 16);
  return std::min(rows, tokens);
}

void differentiate(Model& model) {
  differentiate_body(model.stem);
  differentiate_body(model.block);
  differentiate_head(model);
}

void add_loss(Model& model) {
  const ValueId targets = frame_value(model.head.list, FrameField::targets, model.tokens);
  for_each_chunk(model, [&](std::int64_t begin, std::int64_t n) {
    emit_chunk_loss(model, targets, begin, n);
  });
}

void add_last_logits(Model& model) {
  List& list = model.head.list;
  const ValueId last = list.row_view(model.head.output, "last", model.tokens - 1, 1);
  const ValueId logits = list.exact("logits", 1, model.vocab, Dtype::f32);
  emit(list, "linear", {last, model.head_weight, kNone}, {logits});
  model.head.output = logits;
}

}  // namespace muster::runtime
