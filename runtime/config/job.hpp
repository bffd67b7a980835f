#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster::runtime {

/// The job file as plain structs, one per section; every field holds its default. Keys in the file
/// have the fields' names. docs/config.md is the table of them, compared with the code by a test.

enum class Precision { fp32, bf16, fp16 };

/// "fp32", "bf16", "fp16".
std::string_view to_string(Precision precision) noexcept;

struct JobSection {
  std::string name = "job";
  std::string output_dir = "out";
  std::int64_t seed = 1;
};

struct ModelSection {
  std::string path;           // Hugging Face folder: config.json and weights
  std::string init = "auto";  // "auto": pretrained with a path, else random
  std::string arch = "llama";
  std::int64_t layers = 0;
  std::int64_t hidden = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;      // 0: heads
  std::int64_t ffn = 0;           // 0: 8/3 hidden, rounded up to a multiple of 32
  std::int64_t vocab = 0;         // 0: the tokenizer's
  std::int64_t max_position = 0;  // 0: data.seq_len
  double norm_eps = 1e-5;
  double rope_theta = 10000.0;
  double init_std = 0.02;
  bool tie_embeddings = false;
  bool qkv_bias = false;
  std::string hidden_act = "silu";
};

struct DataSource {
  std::string path;
  std::string format = "auto";  // "text", "fortune", "jsonl"; "auto": by the file's ending
};

struct DataSection {
  std::vector<DataSource> train;  // [[data.train]]
  std::int64_t seq_len = 256;
  std::string packing = "document";  // "document": attention stays inside a document
  std::string on_bad_row = "fail";   // or "skip"
  std::int64_t prefetch = 2;         // steps read ahead
};

struct TokenizerSection {
  std::string path;  // empty: bytes
};

struct TrainingSection {
  std::int64_t steps = 0;
  std::int64_t global_batch_size = 0;  // sequences per step over all ranks
  std::int64_t local_batch_size = 0;   // sequences per micro-batch; 0: chosen
  Precision precision = Precision::bf16;
  double max_norm = 1.0;  // 0: no clipping
};

struct LossScaleSection {  // precision = "fp16" only
  double init = 65536.0;
  double growth = 2.0;
  double backoff = 0.5;
  std::int64_t interval = 2000;
  double min = 1.0;
  std::int64_t max_skips_at_min = 10;  // then the job stops with a report
};

struct OptimizerSection {
  std::string name = "adamw";
  double lr = 3e-4;
  double beta1 = 0.9;
  double beta2 = 0.95;
  double eps = 1e-8;
  double weight_decay = 0.1;
  std::vector<std::string> no_decay = {"norm", "bias"};  // parts of parameter names
};

struct LrSchedulerSection {
  std::string type = "cosine";  // "cosine", "linear", "constant", "wsd"
  std::int64_t warmup_steps = 0;
  double min_lr_factor = 0.0;  // of lr, at the end
  double decay_ratio = 0.0;    // wsd, linear: last part of the steps that decays; 0: chosen by type
  std::string decay_type = "sqrt";  // wsd: "linear", "sqrt", "cosine"
  std::string first_step =
      "one";  // "one": factor of step s is (s + 1) / warm-up; "zero": s / warm-up
};

struct CheckpointSection {
  std::int64_t interval = 0;  // steps; 0: only at the end
  std::int64_t keep_latest_k = 2;
  std::string resume = "auto";  // "auto", "never", or a step
};

struct ValidationSection {
  std::string path;           // a file; or
  double split = 0.0;         // this part of the training text, taken from its end
  std::int64_t interval = 0;  // steps; 0: only at the end
  std::int64_t steps = 0;     // batches per validation; 0: all
};

struct LoggingSection {
  std::int64_t interval = 10;  // steps between whole lines in a file
};

struct CommSection {
  std::string backend = "auto";
  std::string
      algo;  // as collectives::AlgorithmTable::use(); empty: the recorded, else the cheapest
  bool encrypt = false;
  double init_timeout_seconds = 300.0;
  double train_timeout_seconds = 100.0;
};

struct DeviceSection {
  std::string kind = "cpu";
  std::int64_t threads = 0;  // per rank; 0: cores / local ranks
};

struct ProbeSection {
  bool enable = true;
  double budget_seconds = 1.0;
};

struct JobConfig {
  std::string file;  // where it came from, for messages
  JobSection job;
  ModelSection model;
  TokenizerSection tokenizer;
  DataSection data;
  TrainingSection training;
  LossScaleSection loss_scale;
  OptimizerSection optimizer;
  LrSchedulerSection lr_scheduler;
  CheckpointSection checkpoint;
  ValidationSection validation;
  LoggingSection logging;
  CommSection comm;
  DeviceSection device;
  ProbeSection probe;
};

/// Reads a TOML job file and applies `overrides` ("training.steps=50"), last one wins. Paths of
/// data and models in it are relative to the file's folder, those in overrides and job.output_dir
/// to the working directory; in the result the former are absolute.
///
/// An override's value is TOML; text for a string key needs no quotes. "data.train.path=F" sets the
/// path of the only source, or makes one.
///
/// Error(config) lists every mistake at once, a line each: `file:line:column: key "x" …`, with the
/// value, the limit or allowed values, and the nearest known key for an unknown one. A file that is
/// not TOML at all ends at its first error.
JobConfig load_job(const std::string& path, const std::vector<std::string>& overrides);

/// The same for a text already read; `file` names it in messages and its folder is where paths
/// start.
JobConfig parse_job(std::string_view text, const std::string& file,
                    const std::vector<std::string>& overrides);

/// The job as TOML with every key that applies, defaults too. load_job() of it gives the same job.
std::string to_toml(const JobConfig& job);

/// One key of the job file, for documentation.
struct KeyInfo {
  std::string name;           // "training.steps"
  std::string type;           // "string", "integer", "number", "boolean", "list of strings"
  std::string default_value;  // as TOML; empty when the key must be given
  std::string allowed;        // ">= 1", "one of "a", "b""; empty when anything goes
  std::string meaning;        // one sentence
};

/// Every key load_job() knows, in the order of the sections.
std::vector<KeyInfo> job_keys();

}  // namespace muster::runtime
