#include "runtime/model/llama.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>
#include <utility>

#include "runtime/program/op_kind.hpp"

namespace muster::runtime {
namespace {

enum RopeTable : int { cos_table = 0, sin_table = 1 };

struct Part {
  std::string name;
  std::int64_t rows;
};

/// A matrix of `cols` columns whose rows are those of its parts, one after the other.
ParameterSpec stacked_matrix(std::string name, std::int64_t cols, const std::vector<Part>& parts,
                             double std) {
  Parameter parameter{.name = std::move(name), .cols = cols, .init_std = static_cast<float>(std)};
  for (const Part& part : parts) {
    parameter.tensors.push_back({part.name, {part.rows, cols}, parameter.count()});
    parameter.rows += part.rows;
  }
  return {.parameter = std::move(parameter)};
}

ParameterSpec matrix(const std::string& name, std::int64_t rows, std::int64_t cols, double std) {
  return stacked_matrix(name, cols, {{name, rows}}, std);
}

/// A row of numbers whose parts lie side by side.
ParameterSpec stacked_vector(std::string name, Init init, const std::vector<Part>& parts) {
  Parameter parameter{.name = std::move(name), .rows = 1, .init = init};
  for (const Part& part : parts) {
    parameter.tensors.push_back({part.name, {part.rows}, parameter.cols});
    parameter.cols += part.rows;
  }
  return {.parameter = std::move(parameter)};
}

/// Emits the parts of one model.
class Builder {
 public:
  Builder(const ModelShape& shape, const BatchShape& batch) : shape_(shape), batch_(batch) {
    model_.tokens = batch.tokens();
    model_.hidden = shape.hidden;
    model_.vocab = shape.vocab;
    model_.stem.name = "stem";
    model_.block.name = "block";
    model_.block.count = shape.layers;
    model_.head.name = "head";
  }

  Model build() {
    add_rope_tables();
    build_stem();
    build_block();
    build_head();
    return std::move(model_);
  }

 private:
  std::int64_t tokens() const { return model_.tokens; }

  ValueId activation(Segment& segment, std::string name, std::int64_t cols) {
    return segment.list.computed(std::move(name), tokens(), cols, Dtype::f32);
  }

  void add_rope_tables() {
    const std::vector<double> frequencies = rope_frequencies(shape_);
    const auto half = static_cast<std::int64_t>(frequencies.size());
    Constant cos{"rope_cos", shape_.max_position, half, {}};
    Constant sin{"rope_sin", shape_.max_position, half, {}};
    for (std::int64_t position = 0; position < shape_.max_position; ++position) {
      for (const double frequency : frequencies) {
        // The angle is rounded to f32 as transformers does: inv_freq and position are f32 there.
        const float angle = static_cast<float>(position) * static_cast<float>(frequency);
        cos.values.push_back(std::cos(angle));
        sin.values.push_back(std::sin(angle));
      }
    }
    model_.constants = {std::move(cos), std::move(sin)};
  }

  void build_stem() {
    Segment& stem = model_.stem;
    ParameterSpec table =
        matrix("model.embed_tokens.weight", shape_.vocab, shape_.hidden, shape_.init_std);
    table.is_tied = shape_.tie_embeddings;
    const ValueId weight = stem.add_parameter(std::move(table));
    stem.output = activation(stem, "x", shape_.hidden);
    emit(stem.list, "embedding", {weight, frame_value(stem.list, FrameField::tokens, tokens())},
         {stem.output});
  }

  ValueId emit_norm(Segment& segment, ValueId x, const std::string& name) {
    const ValueId weight =
        segment.add_parameter(stacked_vector(name, Init::ones, {{name, shape_.hidden}}));
    const ValueId y = activation(segment, "n", shape_.hidden);
    const ValueId rstd = segment.list.exact("rstd", 1, tokens(), Dtype::f32);
    emit(segment.list, "rms_norm", {x, weight, kNone}, {y, rstd, kNone},
         {{"eps", shape_.norm_eps}});
    return y;
  }

  ValueId emit_linear(Segment& segment, ValueId x, ParameterSpec spec, ValueId bias = kNone) {
    const std::int64_t out = spec.parameter.rows;
    const ValueId weight = segment.add_parameter(std::move(spec));
    const ValueId y = activation(segment, "y", out);
    emit(segment.list, "linear", {x, weight, bias}, {y});
    return y;
  }

  ValueId emit_qkv(ValueId x) {
    Segment& block = model_.block;
    const std::string prefix = "model.layers.{}.self_attn.";
    const std::int64_t q = shape_.heads * shape_.head_dim;
    const std::int64_t kv = shape_.kv_heads * shape_.head_dim;
    ValueId bias = kNone;
    if (shape_.qkv_bias) {
      bias = block.add_parameter(stacked_vector(prefix + "qkv_proj.bias", Init::zeros,
                                                {{prefix + "q_proj.bias", q},
                                                 {prefix + "k_proj.bias", kv},
                                                 {prefix + "v_proj.bias", kv}}));
    }
    return emit_linear(block, x,
                       stacked_matrix(prefix + "qkv_proj.weight", shape_.hidden,
                                      {{prefix + "q_proj.weight", q},
                                       {prefix + "k_proj.weight", kv},
                                       {prefix + "v_proj.weight", kv}},
                                      shape_.init_std),
                       bias);
  }

  ValueId emit_attention(ValueId qkv) {
    List& list = model_.block.list;
    const std::int64_t q = shape_.heads * shape_.head_dim;
    const std::int64_t kv = shape_.kv_heads * shape_.head_dim;
    const ValueId rotated = list.column_view(qkv, "qk", 0, q + kv);
    emit(list, "rope",
         {rotated, frame_value(list, FrameField::positions, tokens()),
          constant_value(list, model_, cos_table), constant_value(list, model_, sin_table)},
         {rotated}, {{"head_dim", static_cast<double>(shape_.head_dim)}});
    const ValueId out = activation(model_.block, "a", q);
    const ValueId lse = list.exact("lse", shape_.heads, tokens(), Dtype::f32);
    emit(list, "attention",
         {list.column_view(qkv, "q", 0, q), list.column_view(qkv, "k", q, kv),
          list.column_view(qkv, "v", q + kv, kv), frame_value(list, FrameField::bounds, tokens())},
         {out, lse},
         {{"heads", static_cast<double>(shape_.heads)},
          {"kv_heads", static_cast<double>(shape_.kv_heads)},
          {"scale", 1.0 / std::sqrt(static_cast<double>(shape_.head_dim))},
          {"seq_len", static_cast<double>(batch_.seq_len)}});
    return out;
  }

  ValueId emit_add(ValueId a, ValueId b) {
    const ValueId c = activation(model_.block, "x", shape_.hidden);
    emit(model_.block.list, "add", {a, b}, {c});
    return c;
  }

  ValueId emit_mlp(ValueId x) {
    Segment& block = model_.block;
    const std::string prefix = "model.layers.{}.mlp.";
    const std::int64_t ffn = shape_.ffn;
    const ValueId gate_up = emit_linear(
        block, x,
        stacked_matrix(prefix + "gate_up_proj.weight", shape_.hidden,
                       {{prefix + "gate_proj.weight", ffn}, {prefix + "up_proj.weight", ffn}},
                       shape_.init_std));
    const ValueId h = activation(block, "h", ffn);
    emit(block.list, shape_.gated_unit == GatedUnit::swiglu ? "swiglu" : "geglu",
         {block.list.column_view(gate_up, "gate", 0, ffn),
          block.list.column_view(gate_up, "up", ffn, ffn)},
         {h});
    return emit_linear(block, h,
                       matrix(prefix + "down_proj.weight", shape_.hidden, ffn, residual_std()));
  }

  void build_block() {
    Segment& block = model_.block;
    block.input = activation(block, "x", shape_.hidden);
    const ValueId n1 = emit_norm(block, block.input, "model.layers.{}.input_layernorm.weight");
    const ValueId a = emit_attention(emit_qkv(n1));
    const ValueId o = emit_linear(block, a,
                                  matrix("model.layers.{}.self_attn.o_proj.weight", shape_.hidden,
                                         shape_.heads * shape_.head_dim, residual_std()));
    const ValueId x2 = emit_add(block.input, o);
    const ValueId n2 = emit_norm(block, x2, "model.layers.{}.post_attention_layernorm.weight");
    block.output = emit_add(x2, emit_mlp(n2));
  }

  void build_head() {
    Segment& head = model_.head;
    head.input = activation(head, "x", shape_.hidden);
    head.output = emit_norm(head, head.input, "model.norm.weight");
    const std::string name = shape_.tie_embeddings ? "model.embed_tokens.weight" : "lm_head.weight";
    ParameterSpec weight = matrix(name, shape_.vocab, shape_.hidden, shape_.init_std);
    weight.is_tied = shape_.tie_embeddings;
    model_.head_weight = head.add_parameter(std::move(weight));
  }

  /// Projections onto the residual stream begin smaller, so that its variance does not grow with
  /// the number of layers (GPT-2's initialisation).
  double residual_std() const {
    return shape_.init_std / std::sqrt(2.0 * static_cast<double>(shape_.layers));
  }

  const ModelShape& shape_;
  const BatchShape& batch_;
  Model model_;
};

}  // namespace

std::vector<double> rope_frequencies(const ModelShape& shape) {
  const RopeScaling& scaling = shape.rope_scaling;
  const auto old_length = static_cast<double>(scaling.original_max_position);
  std::vector<double> frequencies;
  for (std::int64_t i = 0; i < shape.head_dim / 2; ++i) {
    const double exponent = 2.0 * static_cast<double>(i) / static_cast<double>(shape.head_dim);
    double frequency = std::pow(shape.rope_theta, -exponent);
    if (scaling.type == "linear") frequency /= scaling.factor;
    if (scaling.type == "llama3") {
      const double turns = old_length * frequency / (2.0 * std::numbers::pi);
      const double low = scaling.low_freq_factor;
      const double high = scaling.high_freq_factor;
      const double smooth = std::clamp((turns - low) / (high - low), 0.0, 1.0);
      frequency = (1.0 - smooth) * frequency / scaling.factor + smooth * frequency;
    }
    frequencies.push_back(frequency);
  }
  return frequencies;
}

Model build_llama(const ModelShape& shape, const BatchShape& batch) {
  return Builder(shape, batch).build();
}

}  // namespace muster::runtime
