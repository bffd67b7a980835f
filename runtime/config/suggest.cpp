#include <array>
#include <utility>

#include "runtime/config/keys.hpp"
#include "runtime/config/names.hpp"

namespace muster::runtime {
namespace {

/// What other trainers call the same thing.
constexpr std::array<std::pair<std::string_view, std::string_view>, 24> kOtherWords = {{
    {"batch_size", "training.global_batch_size"},
    {"cutoff_len", "data.seq_len"},
    {"dump_folder", "job.output_dir"},
    {"freq", "validation.interval"},
    {"gradient_clipping", "training.max_norm"},
    {"hidden_size", "model.hidden"},
    {"intermediate_size", "model.ffn"},
    {"learning_rate", "optimizer.lr"},
    {"log_freq", "logging.interval"},
    {"max_grad_norm", "training.max_norm"},
    {"max_position_embeddings", "model.max_position"},
    {"max_steps", "training.steps"},
    {"micro_batch_size", "training.local_batch_size"},
    {"mixed_precision", "training.precision"},
    {"num_attention_heads", "model.heads"},
    {"num_hidden_layers", "model.layers"},
    {"num_key_value_heads", "model.kv_heads"},
    {"num_layers", "model.layers"},
    {"rms_norm_eps", "model.norm_eps"},
    {"save_total_limit", "checkpoint.keep_latest_k"},
    {"sequence_len", "data.seq_len"},
    {"tie_word_embeddings", "model.tie_embeddings"},
    {"total_steps", "training.steps"},
    {"vocab_size", "model.vocab"},
}};

std::string_view last_word(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  return dot == std::string_view::npos ? name : name.substr(dot + 1);
}

std::string same_word_elsewhere(std::string_view name, std::span<const std::string> known) {
  std::string best;
  for (const std::string& candidate : known) {
    if (last_word(candidate) != last_word(name)) continue;
    const bool is_nearer =
        best.empty() || edit_distance(name, candidate) < edit_distance(name, best);
    if (is_nearer) best = candidate;
  }
  return best;
}

}  // namespace

std::vector<std::string> key_names() {
  std::vector<std::string> names;
  for (const auto& key : job_key_table()) names.emplace_back(key.name);
  for (const auto& key : source_key_table()) names.emplace_back(key.name);
  return names;
}

std::vector<std::string> section_names() {
  std::vector<std::string> sections;
  for (const auto& key : job_key_table()) {
    const std::string section(key.name.substr(0, key.name.find('.')));
    if (sections.empty() || sections.back() != section) sections.push_back(section);
  }
  return sections;
}

std::string suggest_key(std::string_view name) {
  const std::string_view bounded = name.substr(0, 256);
  const std::vector<std::string> known = key_names();
  if (std::string same = same_word_elsewhere(bounded, known); !same.empty()) return same;
  for (const auto& [other, ours] : kOtherWords) {
    if (last_word(bounded) == other) return std::string(ours);
  }
  return nearest(bounded, known);
}

}  // namespace muster::runtime
