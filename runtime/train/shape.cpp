#include "runtime/train/shape.hpp"

#include <fmt/format.h>

#include "kernels/base/error.hpp"
#include "runtime/checkpoint/hf_config.hpp"

namespace muster::runtime {
namespace {

std::int64_t round_up(std::int64_t value, std::int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

ModelShape shape_from_keys(const JobConfig& config, std::int64_t tokenizer_vocab) {
  const ModelSection& model = config.model;
  constexpr std::int64_t kFfnMultiple = 32;
  return {.family = model.arch,
          .layers = model.layers,
          .hidden = model.hidden,
          .heads = model.heads,
          .kv_heads = model.kv_heads > 0 ? model.kv_heads : model.heads,
          .head_dim = model.hidden / model.heads,
          .ffn = model.ffn > 0 ? model.ffn : round_up(model.hidden * 8 / 3, kFfnMultiple),
          .vocab = model.vocab > 0 ? model.vocab : tokenizer_vocab,
          .max_position = model.max_position > 0 ? model.max_position : config.data.seq_len,
          .norm_eps = model.norm_eps,
          .rope_theta = model.rope_theta,
          .tie_embeddings = model.tie_embeddings,
          .qkv_bias = model.qkv_bias,
          .gated_unit = model.hidden_act == "silu" ? GatedUnit::swiglu : GatedUnit::geglu,
          .init_std = model.init_std};
}

}  // namespace

ModelShape model_shape(const JobConfig& config, std::int64_t tokenizer_vocab) {
  if (config.model.path.empty()) return shape_from_keys(config, tokenizer_vocab);
  ModelShape shape = read_hf_config(config.model.path);
  if (config.data.seq_len > shape.max_position) {
    throw Error(
        ErrorCode::config,
        fmt::format("{}: data.seq_len = {} is above the {} positions of the model in {}",
                    config.file, config.data.seq_len, shape.max_position, config.model.path));
  }
  // The rotary tables need no more rows than a sequence has tokens.
  shape.max_position = config.data.seq_len;
  return shape;
}

Dtype compute_dtype(Precision precision) noexcept {
  switch (precision) {
    case Precision::fp32: return Dtype::f32;
    case Precision::bf16: return Dtype::bf16;
    case Precision::fp16: return Dtype::f16;
  }
  return Dtype::f32;
}

}  // namespace muster::runtime
