#include "runtime/config/keys.hpp"

#include <algorithm>

namespace muster::runtime {
namespace {

template <auto Section, auto Member>
Field field(JobConfig& job) {
  return &(job.*Section.*Member);
}

template <auto Member>
Field source_field(DataSource& source) {
  return &(source.*Member);
}

constexpr double kMaxSteps = 1e12;

constexpr Limits kAny{};
constexpr Limits at_least(double min) {
  return {.min = min};
}
constexpr Limits above(double min) {
  return {.min = min, .is_min_excluded = true};
}
constexpr Limits between(double min, double max) {
  return {.min = min, .max = max};
}
constexpr Limits from_to_below(double min, double max) {
  return {.min = min, .max = max, .is_max_excluded = true};
}
constexpr Limits path() {
  return {.is_path = true};
}
constexpr Limits one_of(std::string_view choices) {
  return {.choices = choices};
}

using Job = JobConfig;
constexpr bool kRequired = true;
constexpr bool kOptional = false;

constexpr Key<Job> kKeys[] = {
    {"job.name", &field<&Job::job, &JobSection::name>, kAny, kOptional,
     "Name of the job in logs and reports."},
    {"job.output_dir", &field<&Job::job, &JobSection::output_dir>, kAny, kOptional,
     "Folder for checkpoints, metrics and reports, relative to the working directory; made when "
     "missing."},
    {"job.seed", &field<&Job::job, &JobSection::seed>, at_least(0), kOptional,
     "Seed of the initial weights and of the order of the data."},

    {"model.path", &field<&Job::model, &ModelSection::path>, path(), kOptional,
     "Hugging Face folder with config.json and weights; excludes the keys of a shape (layers to "
     "norm_eps, rope_theta, tie_embeddings, qkv_bias, hidden_act)."},
    {"model.init", &field<&Job::model, &ModelSection::init>, one_of("auto pretrained random"),
     kOptional, "Where weights come from; auto: pretrained with a path, else random."},
    {"model.arch", &field<&Job::model, &ModelSection::arch>, one_of("llama"), kOptional,
     "Family of a model without a path."},
    {"model.layers", &field<&Job::model, &ModelSection::layers>, between(0, 65536), kOptional,
     "Transformer blocks; must be given without a path."},
    {"model.hidden", &field<&Job::model, &ModelSection::hidden>, between(0, 1 << 20), kOptional,
     "Width of the residual stream; must be given without a path."},
    {"model.heads", &field<&Job::model, &ModelSection::heads>, between(0, 1 << 20), kOptional,
     "Attention heads; must be given without a path and divide hidden into an even size."},
    {"model.kv_heads", &field<&Job::model, &ModelSection::kv_heads>, between(0, 1 << 20), kOptional,
     "Key and value heads, a divisor of heads; 0: as many as heads."},
    {"model.ffn", &field<&Job::model, &ModelSection::ffn>, between(0, 1 << 24), kOptional,
     "Inner width of the feed-forward part; 0: 8/3 of hidden, rounded up to a multiple of 32."},
    {"model.vocab", &field<&Job::model, &ModelSection::vocab>, between(0, 1 << 28), kOptional,
     "Rows of the embedding; 0: as many as the tokenizer has."},
    {"model.max_position", &field<&Job::model, &ModelSection::max_position>, between(0, 1 << 24),
     kOptional, "Longest sequence the model is made for, at least data.seq_len; 0: data.seq_len."},
    {"model.norm_eps", &field<&Job::model, &ModelSection::norm_eps>, between(0, 1), kOptional,
     "Added to the mean square in every norm."},
    {"model.rope_theta", &field<&Job::model, &ModelSection::rope_theta>, above(0), kOptional,
     "Base of the rotary embedding's wavelengths."},
    {"model.init_std", &field<&Job::model, &ModelSection::init_std>, between(0, 10), kOptional,
     "Standard deviation of random initial weights."},
    {"model.tie_embeddings", &field<&Job::model, &ModelSection::tie_embeddings>, kAny, kOptional,
     "One matrix is both embedding and output head."},
    {"model.qkv_bias", &field<&Job::model, &ModelSection::qkv_bias>, kAny, kOptional,
     "Query, key and value projections have a bias."},
    {"model.hidden_act", &field<&Job::model, &ModelSection::hidden_act>,
     one_of("silu gelu_pytorch_tanh"), kOptional,
     "Activation of the gated unit between the two halves of an mlp."},

    {"tokenizer.path", &field<&Job::tokenizer, &TokenizerSection::path>, path(), kOptional,
     "Tokenizer file; empty: bytes (256 bytes, bos 256, eos 257, pad 258)."},

    {"data.seq_len", &field<&Job::data, &DataSection::seq_len>, between(1, 1 << 24), kOptional,
     "Tokens per sequence."},
    {"data.packing", &field<&Job::data, &DataSection::packing>, one_of("document"), kOptional,
     "How documents share a sequence; document: attention and positions stay inside each."},
    {"data.on_bad_row", &field<&Job::data, &DataSection::on_bad_row>, one_of("fail skip"),
     kOptional,
     "What a malformed row of JSONL does: stop before step 0, or be left out and counted."},
    {"data.prefetch", &field<&Job::data, &DataSection::prefetch>, between(1, 1024), kOptional,
     "Steps whose batches are made ahead."},

    {"training.steps", &field<&Job::training, &TrainingSection::steps>, between(1, kMaxSteps),
     kRequired, "Optimiser steps of the whole run."},
    {"training.global_batch_size", &field<&Job::training, &TrainingSection::global_batch_size>,
     between(1, 1 << 24), kRequired, "Sequences per step over all ranks."},
    {"training.local_batch_size", &field<&Job::training, &TrainingSection::local_batch_size>,
     between(0, 1 << 24), kOptional,
     "Sequences per micro-batch of a rank, at most global_batch_size; 0: chosen."},
    {"training.precision", &field<&Job::training, &TrainingSection::precision>,
     one_of("fp32 bf16 fp16"), kOptional,
     "What is computed in; master weights, sums and optimiser state are fp32."},
    {"training.max_norm", &field<&Job::training, &TrainingSection::max_norm>, at_least(0),
     kOptional, "Gradients are scaled down to this global norm; 0: never."},

    {"loss_scale.init", &field<&Job::loss_scale, &LossScaleSection::init>, between(1e-30, 1e30),
     kOptional, "First loss scale; this section counts with precision fp16 only."},
    {"loss_scale.growth", &field<&Job::loss_scale, &LossScaleSection::growth>, between(1, 1e6),
     kOptional, "Factor of the scale after interval clean steps."},
    {"loss_scale.backoff",
     &field<&Job::loss_scale, &LossScaleSection::backoff>,
     {.min = 0, .max = 1, .is_min_excluded = true, .is_max_excluded = true},
     kOptional,
     "Factor of the scale after a step that overflowed and was skipped."},
    {"loss_scale.interval", &field<&Job::loss_scale, &LossScaleSection::interval>,
     between(1, kMaxSteps), kOptional, "Clean steps in a row before the scale grows."},
    {"loss_scale.min", &field<&Job::loss_scale, &LossScaleSection::min>, between(1e-30, 1e30),
     kOptional, "The scale never falls below, at most init."},
    {"loss_scale.max_skips_at_min", &field<&Job::loss_scale, &LossScaleSection::max_skips_at_min>,
     between(1, kMaxSteps), kOptional,
     "The job stops with a report after this many skipped steps in a row at the minimum."},

    {"optimizer.name", &field<&Job::optimizer, &OptimizerSection::name>, one_of("adamw"), kOptional,
     "Optimiser."},
    {"optimizer.lr", &field<&Job::optimizer, &OptimizerSection::lr>, above(0), kOptional,
     "Highest learning rate."},
    {"optimizer.beta1", &field<&Job::optimizer, &OptimizerSection::beta1>, from_to_below(0, 1),
     kOptional, "Decay of the mean of gradients."},
    {"optimizer.beta2", &field<&Job::optimizer, &OptimizerSection::beta2>, from_to_below(0, 1),
     kOptional, "Decay of the mean of squared gradients."},
    {"optimizer.eps", &field<&Job::optimizer, &OptimizerSection::eps>, at_least(0), kOptional,
     "Added to the root of the mean of squares."},
    {"optimizer.weight_decay", &field<&Job::optimizer, &OptimizerSection::weight_decay>,
     at_least(0), kOptional, "Decoupled weight decay."},
    {"optimizer.no_decay", &field<&Job::optimizer, &OptimizerSection::no_decay>, kAny, kOptional,
     "Parameters with one of these words in their name are not decayed."},

    {"lr_scheduler.type", &field<&Job::lr_scheduler, &LrSchedulerSection::type>,
     one_of("cosine linear constant wsd"), kOptional, "Course of the learning rate after warm-up."},
    {"lr_scheduler.warmup_steps", &field<&Job::lr_scheduler, &LrSchedulerSection::warmup_steps>,
     between(0, kMaxSteps), kOptional, "Steps of linear rise, at most training.steps."},
    {"lr_scheduler.min_lr_factor", &field<&Job::lr_scheduler, &LrSchedulerSection::min_lr_factor>,
     between(0, 1), kOptional, "Part of lr that is left at the end."},
    {"lr_scheduler.decay_ratio", &field<&Job::lr_scheduler, &LrSchedulerSection::decay_ratio>,
     between(0, 1), kOptional,
     "Last part of the steps that decays, for wsd and linear; 0: 0.2 for wsd, everything after the "
     "warm-up for linear."},
    {"lr_scheduler.decay_type", &field<&Job::lr_scheduler, &LrSchedulerSection::decay_type>,
     one_of("linear sqrt cosine"), kOptional, "Shape of the decay of wsd."},
    {"lr_scheduler.first_step", &field<&Job::lr_scheduler, &LrSchedulerSection::first_step>,
     one_of("one zero"), kOptional,
     "Warm-up factor of step s; one: (s + 1) / warmup_steps, zero: s / warmup_steps."},

    {"checkpoint.interval", &field<&Job::checkpoint, &CheckpointSection::interval>,
     between(0, kMaxSteps), kOptional, "Steps between checkpoints; 0: only at the end."},
    {"checkpoint.keep_latest_k", &field<&Job::checkpoint, &CheckpointSection::keep_latest_k>,
     between(1, 1 << 20), kOptional, "Complete checkpoints that are kept."},
    {"checkpoint.resume",
     &field<&Job::checkpoint, &CheckpointSection::resume>,
     {.choices = "auto never", .takes_step = true},
     kOptional,
     "Start from the newest complete checkpoint if there is one, never, or from that of a step."},

    {"validation.path", &field<&Job::validation, &ValidationSection::path>, path(), kOptional,
     "File of held-out text; excludes split."},
    {"validation.split", &field<&Job::validation, &ValidationSection::split>, from_to_below(0, 1),
     kOptional, "This part of the training text, taken from its end, is held out; 0: none."},
    {"validation.interval", &field<&Job::validation, &ValidationSection::interval>,
     between(0, kMaxSteps), kOptional, "Steps between validations; 0: only at the end."},
    {"validation.steps", &field<&Job::validation, &ValidationSection::steps>, between(0, kMaxSteps),
     kOptional, "Batches per validation; 0: all."},

    {"logging.interval", &field<&Job::logging, &LoggingSection::interval>, between(1, kMaxSteps),
     kOptional, "Steps between whole lines where output is not a terminal."},

    {"comm.backend", &field<&Job::comm, &CommSection::backend>,
     one_of("auto self shm hierarchical tcp mpi"), kOptional,
     "What moves data between ranks; mpi only under mpirun, and never chosen by auto."},
    {"comm.algo",
     &field<&Job::comm, &CommSection::algo>,
     {.is_algorithms = true},
     kOptional,
     "Algorithms of the back ends tcp and (between hosts) hierarchical, an error with others; "
     "empty: "
     "as recorded in the output folder's plan.json, else auto, the cheapest over the links as the "
     "probe finds them; MUSTER_ALGO wins."},
    {"comm.encrypt", &field<&Job::comm, &CommSection::encrypt>, kAny, kOptional,
     "Encrypt what the back ends tcp and hierarchical send to other hosts, an error with mpi; "
     "MUSTER_TCP_ENCRYPT wins."},
    {"comm.init_timeout_seconds", &field<&Job::comm, &CommSection::init_timeout_seconds>,
     between(0.1, 1e6), kOptional, "Longest wait for all ranks to appear."},
    {"comm.train_timeout_seconds", &field<&Job::comm, &CommSection::train_timeout_seconds>,
     between(0.1, 1e6), kOptional, "Longest wait for other ranks during training."},

    {"device.kind", &field<&Job::device, &DeviceSection::kind>, one_of("cpu"), kOptional,
     "What ranks compute on."},
    {"device.threads", &field<&Job::device, &DeviceSection::threads>, between(0, 4096), kOptional,
     "Threads per rank; 0: cores of the host divided by its ranks."},

    {"probe.enable", &field<&Job::probe, &ProbeSection::enable>, kAny, kOptional,
     "Measure links and devices before planning."},
    {"probe.budget_seconds", &field<&Job::probe, &ProbeSection::budget_seconds>,
     between(0.01, 3600), kOptional, "Longest time the measurement takes."},
};

constexpr Key<DataSource> kSourceKeys[] = {
    {"data.train.path", &source_field<&DataSource::path>, path(), kRequired,
     "File of training text; one table [[data.train]] per file."},
    {"data.train.format", &source_field<&DataSource::format>, one_of("auto text fortune jsonl"),
     kOptional,
     "text: one document; fortune: documents between lines of a single %; jsonl: rows {\"text\": "
     "…}; "
     "auto: jsonl by the ending .jsonl, else text."},
};

constexpr std::string_view kShapeKeys[] = {
    "model.layers",     "model.hidden",         "model.heads",    "model.kv_heads",
    "model.ffn",        "model.vocab",          "model.norm_eps", "model.max_position",
    "model.rope_theta", "model.tie_embeddings", "model.qkv_bias", "model.hidden_act",
};

}  // namespace

std::span<const Key<JobConfig>> job_key_table() {
  return kKeys;
}

std::span<const Key<DataSource>> source_key_table() {
  return kSourceKeys;
}

bool is_shape_key(std::string_view name) {
  return std::ranges::find(kShapeKeys, name) != std::end(kShapeKeys);
}

}  // namespace muster::runtime
