#include "runtime/train/resume.hpp"

#include <charconv>
#include <string>

#include <fmt/format.h>

#include "kernels/base/error.hpp"
#include "runtime/checkpoint/folders.hpp"
#include "runtime/checkpoint/hf_weights.hpp"
#include "runtime/checkpoint/reader.hpp"
#include "runtime/train/weights.hpp"

namespace muster::runtime {
namespace {

std::optional<std::int64_t> find_step(const JobConfig& config) {
  const std::string& wish = config.checkpoint.resume;
  if (wish == "never") return std::nullopt;
  if (wish == "auto") return CheckpointReader::newest(config.job.output_dir);
  std::int64_t step = 0;
  std::from_chars(wish.data(), wish.data() + wish.size(), step);
  return CheckpointReader(config.job.output_dir, step).state().step;
}

void expect_same(const JobConfig& config, const char* key, std::int64_t now, std::int64_t then) {
  if (now == then) return;
  throw Error(ErrorCode::config,
              fmt::format("{}: {} = {}, but the checkpoint in {} was made with {}: the data would "
                          "not go on where it stopped; use the old value, another job.output_dir, "
                          "or checkpoint.resume = \"never\"",
                          config.file, key, now, config.job.output_dir, then));
}

/// The data order must go on: what decides it has to be the same.
void check_continuity(const JobConfig& config, const TrainerState& state) {
  const JobConfig then = parse_job(state.config, "the checkpoint's trainer.json", {});
  expect_same(config, "job.seed", config.job.seed, then.job.seed);
  expect_same(config, "training.global_batch_size", config.training.global_batch_size,
              then.training.global_batch_size);
  expect_same(config, "data.seq_len", config.data.seq_len, then.data.seq_len);
}

}  // namespace

std::optional<std::int64_t> agree_on_resume(const JobConfig& config, World& world) {
  constexpr const char* kKey = "train/resume";
  if (world.rank == 0) {
    remove_leftovers(config.job.output_dir);
    const auto step = find_step(config);
    world.store->set(kKey, step ? std::to_string(*step) : "none");
    return step;
  }
  const std::string answer =
      world.store->get(kKey, Deadline::after_seconds(config.comm.init_timeout_seconds));
  if (answer == "none") return std::nullopt;
  return std::stoll(answer);
}

void initial_weights(const JobConfig& config, Engine& engine, bool resumes) {
  if (resumes) return;
  initialise(engine.store(), engine.registry(), static_cast<std::uint64_t>(config.job.seed));
  const bool is_pretrained = !config.model.path.empty() && config.model.init != "random";
  if (is_pretrained) {
    load_pretrained(engine.store(), engine.registry(), HfWeights(config.model.path));
  }
}

ResumedState resume_from(const JobConfig& config, Engine& engine,
                         std::optional<std::int64_t> step) {
  if (!step) return {};
  const CheckpointReader reader(config.job.output_dir, *step);
  const TrainerState& state = reader.state();
  check_continuity(config, state);
  load_checkpoint(engine.store(), engine.registry(), reader);
  return {.position = {.step = state.step, .updates = state.updates, .tokens = state.tokens},
          .scale = {.scale = state.loss_scale,
                    .clean_steps = state.clean_steps,
                    .skips_at_min = state.skips_at_min}};
}

}  // namespace muster::runtime
