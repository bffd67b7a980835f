#pragma once

#include <string>
#include <string_view>

#include "runtime/model/shape.hpp"

namespace muster::runtime {

/// Reads `folder`/config.json of a Hugging Face model. Understood: model_type llama, mistral and
/// qwen2; hidden_act silu and gelu_pytorch_tanh, by either of their names; rotary scaling default,
/// linear and llama3, written as rope_scaling (with rope_type, or type in old files) or as
/// rope_parameters (transformers 5).
///
/// A sliding window lowers max_position to its size, up to which it changes nothing.
///
/// Error(config) names file, key, value and what is understood: a key is missing or has a wrong
/// type or range; the model has something that muster does not compute (biases on the output
/// projection or the MLP, quantised weights, partial rotation).
ModelShape read_hf_config(const std::string& folder);

/// The same for a text already read; `file` names it in messages.
ModelShape parse_hf_config(std::string_view text, const std::string& file);

}  // namespace muster::runtime
