#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "collectives/trace/recorder.hpp"
#include "kernels/base/error.hpp"
#include "kernels/base/log.hpp"
#include "kernels/base/seconds.hpp"
#include "runtime/checkpoint/file_io.hpp"
#include "runtime/plan/plan_file.hpp"
#include "runtime/train/heap_count.hpp"
#include "runtime/train/metrics.hpp"
#include "runtime/train/resume.hpp"
#include "runtime/train/run.hpp"
#include "runtime/train/saver.hpp"
#include "runtime/train/session.hpp"
#include "runtime/train/straggler_line.hpp"
#include "runtime/train/trainer.hpp"
#include "runtime/train/validation.hpp"
#include "runtime/train/weights.hpp"
#include "runtime/world/cores.hpp"

namespace muster::runtime {
namespace {

namespace trace = collectives::trace;

using Clock = std::chrono::steady_clock;

constexpr int kStoppedExitCode = 75;
constexpr std::int64_t kComparedSteps = 10;  // measured beside predicted after so many

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// A training run from its first step to its last checkpoint.
class Run {
 public:
  Run(World& world, const JobConfig& config, Reporter& reporter, const StopFlag& stop)
      : world_(world),
        config_(config),
        reporter_(reporter),
        stop_(stop),
        inputs_(read_inputs(config, world.size)),
        counts_heap_(environment("MUSTER_COUNT_ALLOCATIONS") == "1") {
    resume_step_ = agree_on_resume(config, world);
    check_resources(config, inputs_, world);
    threads_ = threads_for_this_rank(world);
    device_ = open_job_device(config, threads_.threads);
    data_ = open_data_group(config, world, threads_.cores_per_rank, *device_);
    engine_ = std::make_unique<Engine>(engine_options(config, inputs_.shape, micro_batch()),
                                       *device_, group());
    introduce();
    forecast_ = make_forecast(config, inputs_.batching, *engine_, *device_, group());
    say(probe_table(forecast_.profile, world.size, forecast_.probe_s));
    say(plan_table(forecast_.plan));
    prepare_training();
  }

  int run() {
    const std::int64_t steps = config_.training.steps;
    const trace::PhaseScope phase("train");
    if (trace::Recorder* const recorder = trace::Recorder::current()) recorder->restart_waits();
    bool is_stopped = false;
    while (trainer_->position().step < steps && !is_stopped) {
      is_stopped = run_step() && trainer_->position().step < steps;
      if (!is_stopped) after_step();
    }
    if (is_stopped) {
      say(fmt::format("stopped on request after step {}", trainer_->position().step));
      say_straggler();
      save(true);
      return kStoppedExitCode;
    }
    finish();
    return 0;
  }

 private:
  BatchShape micro_batch() const { return inputs_.batching.micro_batch(config_.data.seq_len); }
  void say_straggler();
  bool is_chief() const { return world_.rank == 0; }
  void say(const std::string& text) {
    if (is_chief()) reporter_.lines(text);
  }

  collectives::Communicator& group() { return *data_.group; }
  void introduce();
  PlanRecord plan_record() const;
  void prepare_training();
  bool run_step();
  void after_step();
  void report_step(const StepOutcome& outcome, double seconds, std::int64_t allocations);
  void report_skip(const StepOutcome& outcome);
  void compare_with_plan();
  void validate();
  void save(bool must_succeed);
  void finish();

  World& world_;
  const JobConfig& config_;
  Reporter& reporter_;
  const StopFlag& stop_;
  JobInputs inputs_;
  bool counts_heap_;
  std::optional<std::int64_t> resume_step_;
  ThreadChoice threads_;
  std::unique_ptr<kernels::Device> device_;
  DataGroup data_;
  std::unique_ptr<Engine> engine_;
  Forecast forecast_;
  std::unique_ptr<Loader> loader_;
  std::unique_ptr<Trainer> trainer_;
  std::unique_ptr<Validator> validator_;
  std::unique_ptr<MetricsFile> metrics_;
  std::unique_ptr<Saver> saver_;
  std::int64_t first_step_ = 0;
  double compared_seconds_ = 0.0;
  std::int64_t skips_in_a_row_ = 0;
};

void Run::introduce() {
  const ModelShape& shape = inputs_.shape;
  say(
      fmt::format("model: {} with {} layers, hidden {}, {} heads ({} kv), ffn {}, vocab {}: "
                  "{:.2f} M parameters, {}",
                  shape.family, shape.layers, shape.hidden, shape.heads, shape.kv_heads, shape.ffn,
                  shape.vocab, static_cast<double>(engine_->registry().elements()) / 1e6,
                  to_string(config_.training.precision)));
  say(fmt::format("data: {} documents, {} tokens, {} samples of {} per epoch",
                  inputs_.data.documents, inputs_.data.tokens,
                  inputs_.data.train->samples_per_epoch(), config_.data.seq_len));
  if (inputs_.data.skipped.count > 0) {
    say(fmt::format("data: {} bad rows skipped, the first: {}", inputs_.data.skipped.count,
                    inputs_.data.skipped.first));
  }
  say(fmt::format("ranks: {} on {} ({}), {}; messages: {}", world_.size,
                  world_.members.front().host, world_.origin, device_->description(),
                  group().backend()));
  if (!data_.algorithms.remark.empty()) say(data_.algorithms.remark);
  say(fmt::format("threads: {}", threads_.why));
}

PlanRecord Run::plan_record() const {
  const std::optional<collectives::AlgorithmTable>& table = data_.algorithms.table;
  return {.world = world_.size,
          .data_degree = forecast_.plan.data_degree,
          .micro_batches = forecast_.plan.micro_batches,
          .micro_batch_rows = forecast_.plan.micro_batch_rows,
          .backend = data_.backend,
          .algorithms = table ? table->to_text() : std::string()};
}

void Run::prepare_training() {
  const Fault fault = parse_fault(environment("MUSTER_FAULT"));
  if (fault.is_planned && engine_->registry().find_tensor(fault.tensor) < 0) {
    throw Error(ErrorCode::config, fmt::format("MUSTER_FAULT names tensor \"{}\", which this "
                                               "model does not have",
                                               fault.tensor));
  }
  initial_weights(config_, *engine_, resume_step_.has_value());
  const ResumedState resumed = resume_from(config_, *engine_, resume_step_);
  engine_->refresh_compute_copies();
  if (resume_step_) say(fmt::format("resumed from step {}", *resume_step_));
  first_step_ = resumed.position.step;

  const RowRange rows = rows_of_rank(config_.training.global_batch_size, world_.rank, world_.size);
  loader_ = std::make_unique<Loader>(
      inputs_.data.train, LoaderOptions{.global_batch = config_.training.global_batch_size,
                                        .rows = rows,
                                        .micro_rows = inputs_.batching.micro_batch_rows,
                                        .micro_batches = inputs_.batching.micro_batches,
                                        .prefetch = config_.data.prefetch,
                                        .first_step = first_step_});
  trainer_ = std::make_unique<Trainer>(config_, *engine_, group(), *loader_, fault);
  if (resume_step_) trainer_->resume(resumed.position, resumed.scale);
  if (inputs_.data.validation) {
    validator_ = std::make_unique<Validator>(*inputs_.data.validation, micro_batch(),
                                             config_.validation.steps);
  }
  saver_ = std::make_unique<Saver>(config_, *engine_, group());
  if (is_chief()) {
    const std::filesystem::path output(config_.job.output_dir);
    write_file((output / "job.toml").string(), to_toml(config_));
    write_plan_file(config_.job.output_dir, plan_record());
    metrics_ = std::make_unique<MetricsFile>((output / "metrics.jsonl").string(), first_step_);
  }
}

bool Run::run_step() {
  // The first step of a run answers for all that came before it, too.
  const bool is_first = trainer_->position().step == first_step_;
  const std::int64_t allocations = is_first ? 0 : heap_allocations();
  const trace::PhaseScope phase("step");
  const Clock::time_point begin = Clock::now();
  const StepOutcome outcome = trainer_->step(stop_.is_asked());
  const double seconds = seconds_since(begin);
  report_step(outcome, seconds, heap_allocations() - allocations);
  if (outcome.is_skipped) report_skip(outcome);
  skips_in_a_row_ = outcome.is_skipped ? skips_in_a_row_ + 1 : 0;
  const std::int64_t done = trainer_->position().step - first_step_;
  if (done > 1 && done <= kComparedSteps + 1) compared_seconds_ += seconds;
  if (done == kComparedSteps + 1) compare_with_plan();
  return outcome.is_stop_asked;
}

void Run::report_step(const StepOutcome& outcome, double seconds, std::int64_t allocations) {
  if (!is_chief()) return;
  const TrainerPosition& position = trainer_->position();
  const auto tokens =
      static_cast<double>(config_.training.global_batch_size * config_.data.seq_len);
  const std::int64_t memory = peak_resident_bytes();
  metrics_->write_step({.step = position.step,
                        .loss = outcome.loss,
                        .lr = outcome.lr,
                        .tokens_per_s = tokens / seconds,
                        .grad_norm = outcome.grad_norm,
                        .step_seconds = seconds,
                        .target_tokens = outcome.target_tokens,
                        .loss_scale = outcome.loss_scale,
                        .is_skipped = outcome.is_skipped,
                        .memory_bytes = memory,
                        .arena_bytes = engine_->memory().arena_bytes(),
                        .heap_allocations = counts_heap_ ? allocations : -1});
  reporter_.progress(
      {.step = position.step,
       .steps = config_.training.steps,
       .loss = outcome.loss,
       .lr = outcome.lr,
       .tokens_per_s = tokens / seconds,
       .gradient_norm = outcome.grad_norm,
       .step_seconds = seconds,
       .eta_s = seconds * static_cast<double>(config_.training.steps - position.step),
       .memory_bytes = static_cast<double>(memory)});
}

void Run::report_skip(const StepOutcome& outcome) {
  const std::string culprit =
      outcome.bad_rank < 0 ? "the sum over ranks overflowed"
                           : fmt::format("rank {}, gradient of \"{}\"", outcome.bad_rank,
                                         engine_->registry().parameter(outcome.bad_parameter).name);
  const LossScaleState scale = trainer_->loss_scale_state();
  if (is_chief()) {
    log_warning(
        fmt::format("step {} skipped on all ranks: gradient not finite ({}); loss scale "
                    "{} -> {}",
                    trainer_->position().step, culprit, outcome.loss_scale, scale.scale));
  }
  const bool is_lost = config_.training.precision == Precision::fp16
                           ? scale.skips_at_min >= config_.loss_scale.max_skips_at_min
                           : skips_in_a_row_ + 1 >= config_.loss_scale.max_skips_at_min;
  if (!is_lost) return;
  throw Error(ErrorCode::device,
              fmt::format("{} steps in a row had gradients that are not finite, loss scale {}, the "
                          "last one at step {}: {}; try precision = \"bf16\" or a smaller "
                          "optimizer.lr",
                          config_.loss_scale.max_skips_at_min, scale.scale,
                          trainer_->position().step, culprit));
}

void Run::compare_with_plan() {
  const double measured = compared_seconds_ / static_cast<double>(kComparedSteps);
  const Plan& plan = forecast_.plan;
  if (plan.step_s() == 0.0) return;
  say(fmt::format(
      "measured: {:.1f} ms per step over {} steps, predicted {:.1f} ms ({:+.0f} %); "
      "memory {:.1f} MiB, predicted {:.1f} MiB",
      measured * 1e3, kComparedSteps, plan.step_s() * 1e3, (measured / plan.step_s() - 1.0) * 100.0,
      static_cast<double>(peak_resident_bytes()) / 1048576.0,
      static_cast<double>(plan.total_bytes()) / 1048576.0));
}

void Run::after_step() {
  const std::int64_t step = trainer_->position().step;
  const bool is_last = step == config_.training.steps;
  const std::int64_t validation = config_.validation.interval;
  if (validation > 0 && step % validation == 0 && !is_last) validate();
  const std::int64_t checkpoint = config_.checkpoint.interval;
  if (checkpoint > 0 && step % checkpoint == 0 && !is_last) save(false);
}

void Run::validate() {
  if (!validator_) return;
  const trace::PhaseScope phase("validation");
  const Clock::time_point begin = Clock::now();
  const ValidationResult result =
      validator_->run(*engine_, group(), config_.comm.train_timeout_seconds);
  const std::int64_t step = trainer_->position().step;
  if (is_chief()) metrics_->write_validation(step, result.loss, result.tokens);
  say(fmt::format("validation after step {}: loss {:.4f} over {} tokens, {:.2f} s", step,
                  result.loss, result.tokens, seconds_since(begin)));
}

void Run::save(bool must_succeed) {
  const trace::PhaseScope phase("checkpoint");
  const Clock::time_point begin = Clock::now();
  const std::optional<std::string> path =
      saver_->save(trainer_->position(), trainer_->loss_scale_state(), must_succeed);
  if (path) say(fmt::format("checkpoint {} written, {:.2f} s", *path, seconds_since(begin)));
}

void Run::finish() {
  validate();
  save(true);
  say_straggler();
  say(fmt::format("finished after {} steps, {} target tokens", trainer_->position().step,
                  trainer_->position().tokens));
}

void Run::say_straggler() {
  const std::optional<std::string> text =
      straggler_line(world_, group(), config_.comm.train_timeout_seconds);
  if (text) say(*text);
}

}  // namespace

int run_train(World& world, const JobConfig& config, Reporter& reporter, const StopFlag& stop) {
  const trace::PhaseScope phase("setup");
  return Run(world, config, reporter, stop).run();
}

}  // namespace muster::runtime
