#include "runtime/train/trainer.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "collectives/trace/recorder.hpp"

namespace muster::runtime {
namespace {

MicroBatchView view_of(const MicroBatch& batch) {
  return {batch.tokens, batch.targets, batch.positions, batch.bounds};
}

}  // namespace

Trainer::Trainer(const JobConfig& config, Engine& engine, collectives::Communicator& group,
                 Loader& loader, const Fault& fault)
    : config_(config),
      engine_(engine),
      group_(group),
      loader_(loader),
      fault_(fault),
      scale_(config.loss_scale, config.training.precision == Precision::fp16),
      agreement_(first_rank_slot + static_cast<std::size_t>(group.size()), 0.0) {}

void Trainer::resume(const TrainerPosition& position, const LossScaleState& scale) {
  position_ = position;
  scale_.restore(scale);
}

void Trainer::plant_fault() {
  if (!fault_.strikes(group_.rank(), position_.step)) return;
  engine_.plant_nan(engine_.registry().find_tensor(fault_.tensor));
}

const Batch& Trainer::next_batch(std::int64_t step) {
  const collectives::trace::PhaseScope phase("data");
  return loader_.get(step);
}

void Trainer::run_micro_batches(const Batch& batch) {
  const auto count = static_cast<std::int64_t>(batch.micro_batches.size());
  const auto targets = static_cast<double>(std::max<std::int64_t>(*targets_, 1));
  const auto seed = static_cast<float>(scale_.value() / targets);
  for (std::int64_t i = 0; i < count; ++i) {
    engine_.run_micro_batch(view_of(batch.micro_batches[static_cast<std::size_t>(i)]), i, count,
                            seed);
  }
}

void Trainer::agree(bool is_stop_asked, std::int64_t next_targets) {
  std::fill(agreement_.begin(), agreement_.end(), 0.0);
  agreement_[loss_slot] = engine_.loss_sum();
  agreement_[stop_slot] = is_stop_asked ? 1.0 : 0.0;
  agreement_[next_targets_slot] = static_cast<double>(next_targets);
  // A parameter's number + 1, so that 0 says that all is well.
  agreement_[first_rank_slot + static_cast<std::size_t>(group_.rank())] =
      1.0 + engine_.first_not_finite();
  const TensorView view =
      vector_view(agreement_.data(), static_cast<std::int64_t>(agreement_.size()));
  group_
      .all_reduce(view, view, collectives::ReduceOp::sum,
                  {.label = "step agreement", .timeout_s = config_.comm.train_timeout_seconds})
      .wait();
}

void Trainer::name_culprit(StepOutcome& outcome) const {
  for (int rank = 0; rank < group_.size(); ++rank) {
    const double number = agreement_[first_rank_slot + static_cast<std::size_t>(rank)];
    if (number == 0.0) continue;
    outcome.bad_rank = rank;
    outcome.bad_parameter = static_cast<int>(number) - 1;
    return;
  }
}

void Trainer::update(StepOutcome& outcome, double norm_squared) {
  const double norm = std::sqrt(norm_squared) / scale_.value();
  const double limit = config_.training.max_norm;
  const double clip = limit > 0.0 ? std::min(1.0, limit / (norm + 1e-6)) : 1.0;
  const auto t = static_cast<double>(position_.updates + 1);
  outcome.grad_norm = norm;
  outcome.lr = config_.optimizer.lr *
               schedule_factor(config_.lr_scheduler, position_.updates, config_.training.steps);
  engine_.update({.lr = static_cast<float>(outcome.lr),
                  .gradient_scale = static_cast<float>(clip / scale_.value()),
                  .bias_correction1 = 1.0 - std::pow(config_.optimizer.beta1, t),
                  .bias_correction2 = 1.0 - std::pow(config_.optimizer.beta2, t)});
  ++position_.updates;
}

StepOutcome Trainer::step(bool is_stop_asked) {
  if (auto* const recorder = collectives::trace::Recorder::current()) {
    recorder->set_step(position_.step + 1);
  }
  const Batch& batch = next_batch(position_.step);
  if (!targets_) {  // the first step of a run: nobody told us the step before
    agree(false, batch.target_count);
    targets_ = static_cast<std::int64_t>(agreement_[next_targets_slot]);
  }
  plant_fault();
  run_micro_batches(batch);

  const double norm_squared = engine_.take_norm_squared();
  const std::int64_t next_targets = next_batch(position_.step + 1).target_count;
  agree(is_stop_asked, next_targets);

  StepOutcome outcome;
  outcome.target_tokens = *targets_;
  outcome.loss = agreement_[loss_slot] / static_cast<double>(std::max<std::int64_t>(*targets_, 1));
  outcome.loss_scale = scale_.value();
  outcome.is_stop_asked = agreement_[stop_slot] != 0.0;
  outcome.is_skipped = !std::isfinite(norm_squared);
  if (outcome.is_skipped) {
    outcome.grad_norm = norm_squared;
    name_culprit(outcome);
  } else {
    update(outcome, norm_squared);
  }
  scale_.after_step(outcome.is_skipped);
  position_.tokens += *targets_;
  ++position_.step;
  targets_ = static_cast<std::int64_t>(agreement_[next_targets_slot]);
  return outcome;
}

}  // namespace muster::runtime
