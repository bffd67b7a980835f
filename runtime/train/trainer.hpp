#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "collectives/communicator.hpp"
#include "runtime/config/job.hpp"
#include "runtime/dataset/loader.hpp"
#include "runtime/engine/engine.hpp"
#include "runtime/optim/schedule.hpp"
#include "runtime/precision/loss_scale.hpp"
#include "runtime/train/fault.hpp"

namespace muster::runtime {

/// Where a run stands: what a checkpoint keeps beside the tensors.
struct TrainerPosition {
  std::int64_t step = 0;     // steps done; the next batch has this number
  std::int64_t updates = 0;  // steps that were not skipped: the t of AdamW and of the schedule
  std::int64_t tokens = 0;   // target tokens seen
};

/// What one step gave, the same on every rank.
struct StepOutcome {
  double loss = 0.0;       // mean over the unmasked targets of the global batch
  double grad_norm = 0.0;  // before clipping, without the loss scale
  double lr = 0.0;
  double loss_scale = 1.0;
  std::int64_t target_tokens = 0;
  bool is_skipped = false;
  int bad_rank = -1;       // of a skipped step: the first rank with a gradient that is not finite
  int bad_parameter = -1;  // and that gradient's parameter
  bool is_stop_asked = false;
};

/// Runs training steps: micro-batches, reduction, agreement, clipping, update.
///
/// One all_reduce per step carries, in f64, the summed loss, whether anyone was asked to stop,
/// which gradients are not finite, and the number of targets of the *next* step, so that the loss
/// seed is known before its first micro-batch. Collective; one thread.
class Trainer {
 public:
  Trainer(const JobConfig& config, Engine& engine, collectives::Communicator& group, Loader& loader,
          const Fault& fault);

  /// Continues from a checkpoint; call before the first step.
  void resume(const TrainerPosition& position, const LossScaleState& scale);

  /// One step. `is_stop_asked` is this rank's wish; the outcome says what all agreed on.
  StepOutcome step(bool is_stop_asked);

  const TrainerPosition& position() const noexcept { return position_; }
  LossScaleState loss_scale_state() const { return scale_.state(); }

 private:
  enum Slot : std::size_t { loss_slot, stop_slot, next_targets_slot, first_rank_slot };

  const Batch& next_batch(std::int64_t step);
  void run_micro_batches(const Batch& batch);
  void plant_fault();
  void agree(bool is_stop_asked, std::int64_t next_targets);
  void name_culprit(StepOutcome& outcome) const;
  void update(StepOutcome& outcome, double norm_squared);

  const JobConfig& config_;
  Engine& engine_;
  collectives::Communicator& group_;
  Loader& loader_;
  Fault fault_;
  LossScale scale_;
  TrainerPosition position_;
  std::optional<std::int64_t> targets_;  // of the global batch of the next step
  std::vector<double> agreement_;
};

}  // namespace muster::runtime
