#pragma once

#include <vector>

#include "runtime/model/shape.hpp"
#include "runtime/program/model.hpp"

namespace muster::runtime {

/// The LLaMA family: RMS norm, rotary positions, grouped-query attention, SwiGLU; with qkv biases
/// it is Qwen2, with tied embeddings the small Llama 3.2 models. Maths and tensor names as in
/// transformers' modeling_llama.py and modeling_qwen2.py.
Model build_llama(const ModelShape& shape, const BatchShape& batch);

/// Rotary frequencies, [head_dim / 2] radians per position, after scaling.
std::vector<double> rope_frequencies(const ModelShape& shape);

}  // namespace muster::runtime
