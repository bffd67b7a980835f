#include "runtime/train/saver.hpp"

#include <functional>

#include <fmt/format.h>

#include "kernels/base/error.hpp"
#include "kernels/base/log.hpp"
#include "runtime/checkpoint/folders.hpp"
#include "runtime/checkpoint/writer.hpp"
#include "runtime/train/weights.hpp"

namespace muster::runtime {
namespace {

/// What a rank could not do; empty: it could.
std::string problem_of(const std::function<void()>& body) {
  try {
    body();
    return {};
  } catch (const Error& error) {
    return error.what();
  }
}

TrainerState state_of(const JobConfig& config, const TrainerPosition& position,
                      const LossScaleState& scale, int world) {
  return {.step = position.step,
          .updates = position.updates,
          .tokens = position.tokens,
          .samples = position.step * config.training.global_batch_size,
          .seed = config.job.seed,
          .loss_scale = scale.scale,
          .clean_steps = scale.clean_steps,
          .skips_at_min = scale.skips_at_min,
          .world = world,
          .config = to_toml(config)};
}

}  // namespace

bool Saver::all_succeeded(const std::string& problem) {
  float failures = problem.empty() ? 0.0F : 1.0F;
  const TensorView view = vector_view(&failures, 1);
  group_
      .all_reduce(view, view, collectives::ReduceOp::sum,
                  {.label = "checkpoint", .timeout_s = config_.comm.train_timeout_seconds})
      .wait();
  if (!problem.empty()) log_error(fmt::format("checkpoint failed: {}", problem));
  return failures == 0.0F;
}

std::optional<std::string> Saver::save(const TrainerPosition& position, const LossScaleState& scale,
                                       bool must_succeed) {
  if (position.step == last_saved_) return std::nullopt;
  const bool is_chief = group_.rank() == 0;
  std::optional<CheckpointWriter> writer;
  bool is_good = all_succeeded(problem_of([&] {
    writer.emplace(config_.job.output_dir, position.step, group_.rank(), group_.size());
    writer->write_shard(
        chunks_to_write(engine_.store(), engine_.registry(), group_.rank(), group_.size()));
  }));
  if (is_good) {
    is_good = all_succeeded(problem_of([&] {
      if (!is_chief) return;
      writer->finish(state_of(config_, position, scale, group_.size()));
      prune(config_.job.output_dir, config_.checkpoint.keep_latest_k);
    }));
  }
  if (is_good) {
    last_saved_ = position.step;
    return writer->folder().string();
  }
  if (writer) writer->abandon();
  if (must_succeed) {
    throw Error(ErrorCode::io,
                fmt::format("the checkpoint of step {} in {} failed; the log of the rank that "
                            "failed says why; older checkpoints are untouched",
                            position.step, config_.job.output_dir));
  }
  return std::nullopt;
}

}  // namespace muster::runtime
