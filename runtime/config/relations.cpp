#include "runtime/config/relations.hpp"

#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "collectives/backends.hpp"
#include "runtime/config/keys.hpp"

namespace muster::runtime {
namespace {

constexpr double kMaxParameters = 0x1p40;
constexpr double kMaxMicroTokens = 0x1p30;  // token numbers are 32 bits
constexpr double kMaxTokensPerStep = 0x1p40;

void check_required(const JobConfig& job, Findings& findings) {
  for (const auto& key : job_key_table()) {
    const std::string name(key.name);
    if (key.is_required && !findings.is_given(name)) {
      findings.add(name, fmt::format("is missing; must be {}", describe(key.limits)));
    }
  }
  if (job.data.train.empty() && findings.are_good({"data.train"})) {
    findings.add("data.train", "is missing; give one table [[data.train]] with a path per file");
  }
}

double parameter_count(const ModelSection& model) {
  const auto hidden = static_cast<double>(model.hidden);
  const double kv_heads = static_cast<double>(model.kv_heads > 0 ? model.kv_heads : model.heads);
  const double kv = hidden / static_cast<double>(model.heads) * kv_heads;
  const double ffn = model.ffn > 0 ? static_cast<double>(model.ffn) : hidden * 8 / 3;
  const double block = 2 * hidden * hidden + 2 * hidden * kv + 3 * hidden * ffn;
  const double embeddings = (model.tie_embeddings ? 1.0 : 2.0) * static_cast<double>(model.vocab);
  return static_cast<double>(model.layers) * block + embeddings * hidden;
}

void check_heads(const ModelSection& model, Findings& findings) {
  if (model.hidden % model.heads != 0) {
    findings.add("model.heads",
                 fmt::format("is {}; must divide model.hidden = {}", model.heads, model.hidden));
  } else if (model.hidden / model.heads % 2 != 0) {
    findings.add("model.heads",
                 fmt::format("is {} and cuts model.hidden = {} into heads of {}; rotary embedding "
                             "needs an even head size",
                             model.heads, model.hidden, model.hidden / model.heads));
  }
  if (model.kv_heads > 0 && model.heads % model.kv_heads != 0) {
    findings.add("model.kv_heads",
                 fmt::format("is {}; must divide model.heads = {}", model.kv_heads, model.heads));
  }
}

void check_shape(const JobConfig& job, Findings& findings) {
  const ModelSection& model = job.model;
  for (const char* name : {"model.layers", "model.hidden", "model.heads"}) {
    if (!findings.is_given(name)) findings.add(name, "is missing; give it, or model.path");
  }
  if (!findings.are_good({"model.layers", "model.hidden", "model.heads", "model.kv_heads"})) return;
  if (model.layers == 0) findings.add("model.layers", "is 0; must be >= 1");
  if (model.hidden == 0) findings.add("model.hidden", "is 0; must be >= 1");
  if (model.heads == 0) findings.add("model.heads", "is 0; must be >= 1");
  if (model.hidden > 0 && model.heads > 0) check_heads(model, findings);
  if (!findings.are_good({"model.layers", "model.hidden", "model.heads", "model.kv_heads",
                          "model.ffn", "model.vocab"})) {
    return;
  }
  if (const double count = parameter_count(model); count > kMaxParameters) {
    findings.add(
        "model.hidden",
        fmt::format("and the rest of the shape make {:.3g} parameters, {:.3g} TiB of memory to "
                    "train; the limit is 2^40 = {:.3g} parameters",
                    count, 18.0 * count / 0x1p40, kMaxParameters));
  }
}

void check_model(const JobConfig& job, Findings& findings) {
  if (job.model.path.empty()) {
    check_shape(job, findings);
    if (job.model.init == "pretrained") {
      findings.add("model.init", "is \"pretrained\" but there is no model.path to read weights of");
    }
  } else {
    for (const auto& key : job_key_table()) {
      const std::string name(key.name);
      if (is_shape_key(name) && findings.is_given(name)) {
        findings.add(name, "contradicts model.path, whose config.json says it; remove one of them");
      }
    }
  }
  const std::int64_t most = job.model.max_position;
  if (findings.are_good({"model.max_position", "data.seq_len"}) && most > 0 &&
      most < job.data.seq_len) {
    findings.add("data.seq_len",
                 fmt::format("is {}; must be <= model.max_position = {}", job.data.seq_len, most));
  }
}

void check_training(const JobConfig& job, Findings& findings) {
  const TrainingSection& training = job.training;
  const bool is_batch_good =
      findings.are_good({"training.global_batch_size", "training.local_batch_size"});
  if (is_batch_good && training.local_batch_size > training.global_batch_size) {
    findings.add("training.local_batch_size",
                 fmt::format("is {}; must be <= training.global_batch_size = {}",
                             training.local_batch_size, training.global_batch_size));
  }
  const double tokens =
      static_cast<double>(training.global_batch_size) * static_cast<double>(job.data.seq_len);
  if (is_batch_good && findings.are_good({"data.seq_len"}) && tokens > kMaxTokensPerStep) {
    findings.add(
        "training.global_batch_size",
        fmt::format("times data.seq_len makes {:.3g} tokens per step; the limit is 2^40", tokens));
  }
  const double local_tokens =
      static_cast<double>(training.local_batch_size) * static_cast<double>(job.data.seq_len);
  if (is_batch_good && findings.are_good({"data.seq_len"}) && local_tokens > kMaxMicroTokens) {
    findings.add("training.local_batch_size",
                 fmt::format("times data.seq_len makes {:.3g} tokens per micro-batch; the limit is "
                             "2^30",
                             local_tokens));
  }
  const LossScaleSection& scale = job.loss_scale;
  if (findings.are_good({"loss_scale.init", "loss_scale.min"}) && scale.min > scale.init) {
    findings.add("loss_scale.min",
                 fmt::format("is {}; must be <= loss_scale.init = {}", scale.min, scale.init));
  }
}

void check_schedule(const JobConfig& job, Findings& findings) {
  if (!findings.are_good({"lr_scheduler.warmup_steps", "training.steps"})) return;
  const std::int64_t warmup = job.lr_scheduler.warmup_steps;
  const std::int64_t steps = job.training.steps;
  if (warmup > steps) {
    findings.add("lr_scheduler.warmup_steps",
                 fmt::format("is {}; must be <= training.steps = {}", warmup, steps));
    return;
  }
  const std::int64_t decay = decay_steps(job.lr_scheduler, steps);
  if (findings.are_good({"lr_scheduler.decay_ratio", "lr_scheduler.type"}) &&
      warmup + decay > steps) {
    findings.add("lr_scheduler.warmup_steps",
                 fmt::format("is {} and the decay takes {} steps, together more than "
                             "training.steps = {}; lower it or lr_scheduler.decay_ratio",
                             warmup, decay, steps));
  }
}

void check_validation(const JobConfig& job, Findings& findings) {
  const ValidationSection& validation = job.validation;
  const bool has_path = !validation.path.empty();
  const bool has_split = validation.split > 0;
  if (has_path && has_split) {
    findings.add("validation.split", "and validation.path exclude each other; remove one of them");
  }
  if (validation.interval > 0 && !has_path && !has_split &&
      findings.are_good({"validation.split", "validation.interval"})) {
    findings.add("validation.interval",
                 fmt::format("is {} but there is nothing to validate on; give validation.path or "
                             "validation.split",
                             validation.interval));
  }
}

void check_comm(const JobConfig& job, Findings& findings) {
  const CommSection& comm = job.comm;
  if (comm.algo.empty() || !findings.are_good({"comm.algo", "comm.backend"})) return;
  if (comm.backend == "auto" || collectives::has_algorithms(comm.backend)) return;
  findings.add(
      "comm.algo",
      fmt::format("is \"{}\" but comm.backend = \"{}\" has no choice of algorithms; {} have",
                  comm.algo, comm.backend,
                  fmt::join(collectives::backends_with_algorithms(), " and ")));
}

}  // namespace

std::int64_t decay_steps(const LrSchedulerSection& schedule, std::int64_t steps) {
  constexpr double kWsdRatio = 0.2;
  if (schedule.type == "constant") return 0;
  const bool is_wsd = schedule.type == "wsd";
  const bool is_all = schedule.type == "cosine" || (!is_wsd && schedule.decay_ratio == 0);
  if (is_all) return steps - schedule.warmup_steps;
  const double ratio = schedule.decay_ratio > 0 ? schedule.decay_ratio : kWsdRatio;
  return std::llround(ratio * static_cast<double>(steps));
}

void check_relations(const JobConfig& job, Findings& findings) {
  check_required(job, findings);
  check_model(job, findings);
  check_training(job, findings);
  check_schedule(job, findings);
  check_validation(job, findings);
  check_comm(job, findings);
}

}  // namespace muster::runtime
