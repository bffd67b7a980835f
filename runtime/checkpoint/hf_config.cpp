#include "runtime/checkpoint/hf_config.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "kernels/base/error.hpp"
#include "runtime/config/file.hpp"
#include "runtime/config/names.hpp"

namespace muster::runtime {
namespace {

using Json = nlohmann::json;

constexpr std::int64_t kMaxFileBytes = 1 << 24;
constexpr std::int64_t kMaxDimension = 1 << 28;

/// An object of config.json whose members are read with checks. A member that is null counts as
/// missing, as it does for transformers.
class Object {
 public:
  Object(const Json& json, std::string place) : json_(json), place_(std::move(place)) {}

  [[noreturn]] void refuse(std::string_view key, const std::string& text) const {
    throw Error(ErrorCode::config, fmt::format("{}: \"{}\" {}", place_, key, text));
  }

  bool has(const char* key) const { return json_.contains(key) && !json_.at(key).is_null(); }

  std::int64_t size(const char* key, std::optional<std::int64_t> fallback = std::nullopt) const {
    if (is_missing(key, fallback.has_value())) return *fallback;
    const Json& value = json_.at(key);
    const bool is_good = value.is_number_integer() && value >= 1 && value <= kMaxDimension;
    if (!is_good) {
      refuse(key, fmt::format("is {}; must be an integer in [1, {}]", show(value), kMaxDimension));
    }
    return value.get<std::int64_t>();
  }

  double positive(const char* key, std::optional<double> fallback = std::nullopt) const {
    if (is_missing(key, fallback.has_value())) return *fallback;
    const Json& value = json_.at(key);
    const bool is_good =
        value.is_number() && value.get<double>() > 0.0 && std::isfinite(value.get<double>());
    if (!is_good) refuse(key, fmt::format("is {}; must be a number > 0", show(value)));
    return value.get<double>();
  }

  bool flag(const char* key, bool fallback) const {
    if (is_missing(key, true)) return fallback;
    const Json& value = json_.at(key);
    if (!value.is_boolean()) refuse(key, fmt::format("is {}; must be true or false", show(value)));
    return value.get<bool>();
  }

  std::string text(const char* key, const std::optional<std::string>& fallback) const {
    if (is_missing(key, fallback.has_value())) return *fallback;
    const Json& value = json_.at(key);
    if (!value.is_string()) refuse(key, fmt::format("is {}; must be a string", show(value)));
    return value.get<std::string>();
  }

  Object object(const char* key) const {
    const Json& value = json_.at(key);
    if (!value.is_object()) refuse(key, fmt::format("is {}; must be an object", show(value)));
    return {value, fmt::format("{}: \"{}\"", place_, key)};
  }

 private:
  bool is_missing(const char* key, bool has_fallback) const {
    if (has(key)) return false;
    if (!has_fallback) refuse(key, "is missing");
    return true;
  }
  static std::string show(const Json& value) {
    constexpr auto kReplace = Json::error_handler_t::replace;
    return value.is_primitive() ? quote(value.dump(-1, ' ', false, kReplace)) : value.type_name();
  }

  const Json& json_;
  std::string place_;
};

template <std::size_t N>
void require_one_of(const Object& object, const char* key, const std::string& value,
                    const std::array<std::string_view, N>& known) {
  if (std::ranges::find(known, value) != known.end()) return;
  object.refuse(key, fmt::format("is {}; supported: {}", quote(value), fmt::join(known, ", ")));
}

/// What the model has and muster does not compute must not be passed over in silence.
void refuse_unsupported(const Object& config) {
  for (const char* key : {"attention_bias", "mlp_bias"}) {
    if (config.flag(key, false)) config.refuse(key, "is true; such biases are not supported");
  }
  if (config.has("quantization_config")) {
    config.refuse("quantization_config", "is set; quantised weights are not supported");
  }
  if (config.positive("partial_rotary_factor", 1.0) != 1.0) {
    config.refuse("partial_rotary_factor", "is not 1; partial rotation is not supported");
  }
}

// Each function has two names.
GatedUnit read_gated_unit(const Object& config) {
  const std::string name = config.text("hidden_act", "silu");
  require_one_of(config, "hidden_act", name,
                 std::array<std::string_view, 4>{"silu", "swish", "gelu_pytorch_tanh", "gelu_new"});
  return name == "silu" || name == "swish" ? GatedUnit::swiglu : GatedUnit::geglu;
}

RopeScaling read_rope_scaling(const Object& rope) {
  RopeScaling scaling;
  const char* key = rope.has("rope_type") ? "rope_type" : "type";
  scaling.type = rope.text(key, "default");
  require_one_of(rope, key, scaling.type,
                 std::array<std::string_view, 3>{"default", "linear", "llama3"});
  if (scaling.type == "default") return scaling;
  scaling.factor = rope.positive("factor");
  if (scaling.type == "linear") return scaling;
  scaling.low_freq_factor = rope.positive("low_freq_factor");
  scaling.high_freq_factor = rope.positive("high_freq_factor");
  scaling.original_max_position = rope.size("original_max_position_embeddings");
  if (scaling.high_freq_factor <= scaling.low_freq_factor) {
    rope.refuse("high_freq_factor", fmt::format("is {}; must be above low_freq_factor = {}",
                                                scaling.high_freq_factor, scaling.low_freq_factor));
  }
  return scaling;
}

void read_rope(const Object& config, ModelShape& shape) {
  shape.rope_theta = config.positive("rope_theta", 10000.0);
  const char* key = config.has("rope_parameters") ? "rope_parameters" : "rope_scaling";
  if (!config.has(key)) return;
  const Object rope = config.object(key);
  shape.rope_theta = rope.positive("rope_theta", shape.rope_theta);
  shape.rope_scaling = read_rope_scaling(rope);
}

void read_heads(const Object& config, bool is_llama, ModelShape& shape) {
  shape.heads = config.size("num_attention_heads");
  shape.kv_heads = is_llama ? config.size("num_key_value_heads", shape.heads)
                            : config.size("num_key_value_heads");
  if (shape.heads % shape.kv_heads != 0) {
    config.refuse("num_key_value_heads", fmt::format("is {}; must divide num_attention_heads = {}",
                                                     shape.kv_heads, shape.heads));
  }
  if (!config.has("head_dim") && shape.hidden % shape.heads != 0) {
    config.refuse("num_attention_heads",
                  fmt::format("is {}; must divide hidden_size = {} as there is no head_dim",
                              shape.heads, shape.hidden));
  }
  shape.head_dim = config.size("head_dim", std::max<std::int64_t>(1, shape.hidden / shape.heads));
  if (shape.head_dim % 2 != 0) {
    config.refuse("head_dim", fmt::format("is {}; must be even", shape.head_dim));
  }
}

std::int64_t read_max_position(const Object& config, const std::string& model_type) {
  const std::int64_t max_position = config.size("max_position_embeddings");
  const bool has_window = model_type == "mistral" ||
                          (model_type == "qwen2" && config.flag("use_sliding_window", false));
  return has_window ? std::min(max_position, config.size("sliding_window", max_position))
                    : max_position;
}

ModelShape read_shape(const Object& config) {
  const std::string model_type = config.text("model_type", std::nullopt);
  require_one_of(config, "model_type", model_type,
                 std::array<std::string_view, 3>{"llama", "mistral", "qwen2"});
  refuse_unsupported(config);
  ModelShape shape;
  shape.family = "llama";  // all three are the same program
  shape.layers = config.size("num_hidden_layers");
  shape.hidden = config.size("hidden_size");
  read_heads(config, model_type == "llama", shape);
  shape.ffn = config.size("intermediate_size");
  shape.vocab = config.size("vocab_size");
  shape.max_position = read_max_position(config, model_type);
  shape.norm_eps = config.positive("rms_norm_eps", 1e-6);
  read_rope(config, shape);
  shape.tie_embeddings = config.flag("tie_word_embeddings", false);
  shape.qkv_bias = model_type == "qwen2";
  shape.gated_unit = read_gated_unit(config);
  shape.init_std = config.positive("initializer_range", shape.init_std);
  return shape;
}

}  // namespace

ModelShape parse_hf_config(std::string_view text, const std::string& file) {
  Json json;
  try {
    json = Json::parse(text);
  } catch (const Json::exception& error) {
    throw Error(ErrorCode::config, fmt::format("{} is not JSON: {}", file, error.what()));
  }
  if (!json.is_object())
    throw Error(ErrorCode::config, fmt::format("{} must hold an object", file));
  return read_shape(Object(json, file));
}

ModelShape read_hf_config(const std::string& folder) {
  const std::string file = (std::filesystem::path(folder) / "config.json").string();
  return parse_hf_config(read_file(file, kMaxFileBytes), file);
}

}  // namespace muster::runtime
