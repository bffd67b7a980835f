#pragma once

#include <cstdint>

#include "kernels/base/dtype.hpp"
#include "runtime/config/job.hpp"
#include "runtime/model/shape.hpp"

namespace muster::runtime {

/// The shape of the job's model: from config.json of model.path, or from the keys of [model] with
/// their defaults. Error(config) when the sequence length is above max_position.
ModelShape model_shape(const JobConfig& config, std::int64_t tokenizer_vocab);

/// The dtype that activations and compute copies have.
Dtype compute_dtype(Precision precision) noexcept;

}  // namespace muster::runtime
