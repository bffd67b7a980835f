#pragma once

#include <cstdint>
#include <string>

namespace muster::runtime {

/// How rotary angles are stretched (config.json "rope_scaling"; formulas: transformers,
/// modeling_rope_utils.py).
struct RopeScaling {
  std::string type = "default";  // "default", "linear", "llama3"
  double factor = 1.0;
  double low_freq_factor = 1.0;
  double high_freq_factor = 4.0;
  std::int64_t original_max_position = 8192;
};

/// The unit between the two halves of an mlp: h = act(gate) * up, with silu or the tanh form of
/// gelu.
enum class GatedUnit { swiglu, geglu };

/// Everything a family needs to emit its model.
struct ModelShape {
  std::string family = "llama";
  std::int64_t layers = 0;
  std::int64_t hidden = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t ffn = 0;
  std::int64_t vocab = 0;
  std::int64_t max_position = 0;
  double norm_eps = 1e-5;
  double rope_theta = 10000.0;
  RopeScaling rope_scaling;
  bool tie_embeddings = false;
  bool qkv_bias = false;
  GatedUnit gated_unit = GatedUnit::swiglu;
  double init_std = 0.02;
};

/// The part of a micro-batch that a list depends on.
struct BatchShape {
  std::int64_t rows = 1;     // sequences
  std::int64_t seq_len = 0;  // tokens each

  std::int64_t tokens() const noexcept { return rows * seq_len; }
};

}  // namespace muster::runtime
