#pragma once

#include <cstdint>
#include <optional>

#include "runtime/config/job.hpp"
#include "runtime/engine/engine.hpp"
#include "runtime/precision/loss_scale.hpp"
#include "runtime/train/trainer.hpp"
#include "runtime/world/world.hpp"

namespace muster::runtime {

/// The step to resume from, the same on every rank: rank 0 looks (checkpoint.resume: "auto" the
/// newest complete one, "never" none, a number that one) and tells the others through the store.
std::optional<std::int64_t> agree_on_resume(const JobConfig& config, World& world);

/// Fills the weights of a run that begins: from model.path, or at random. Nothing if it resumes.
void initial_weights(const JobConfig& config, Engine& engine, bool resumes);

struct ResumedState {
  TrainerPosition position;
  LossScaleState scale;
};

/// Reads weights, moments and position from the checkpoint of `step`; without one, the beginning.
/// Error(config) when the checkpoint's data order would not be continued: another seed, batch size
/// or sequence length.
ResumedState resume_from(const JobConfig& config, Engine& engine, std::optional<std::int64_t> step);

}  // namespace muster::runtime
