#pragma once

#include <cstdint>
#include <vector>

#include "runtime/checkpoint/chunk.hpp"
#include "runtime/checkpoint/hf_weights.hpp"
#include "runtime/checkpoint/reader.hpp"
#include "runtime/program/parameter_store.hpp"
#include "runtime/program/registry.hpp"

namespace muster::runtime {

/// Fills the master weights at random: a function of the seed, the tensor's name and the element's
/// place in it alone, so every layout begins with the same model. Moments become zero.
void initialise(const ParameterStore& store, const Registry& registry, std::uint64_t seed);

/// Reads the master weights from a Hugging Face folder, by offset, converting to f32.
/// Errors name the tensor and its two shapes.
void load_pretrained(const ParameterStore& store, const Registry& registry,
                     const HfWeights& weights);

/// Reads master weights and, when the store keeps them, moments from a checkpoint.
void load_checkpoint(const ParameterStore& store, const Registry& registry,
                     const CheckpointReader& reader);

/// The chunks that rank `rank` of `world` writes: every logical tensor's master weights and moments
/// once over all ranks, shared out by bytes. Views into the store.
std::vector<Chunk> chunks_to_write(const ParameterStore& store, const Registry& registry, int rank,
                                   int world);

}  // namespace muster::runtime
