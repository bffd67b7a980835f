#include "runtime/checkpoint/hf_config.hpp"

#include <string>
#include <utility>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "tests/support/error_text.hpp"
#include "tests/support/temp_dir.hpp"

namespace muster::runtime {
namespace {

using testing::AllOf;
using testing::HasSubstr;

/// A small valid config, without the member `without` and with the members `extra`.
std::string config(const std::string& extra = "", const std::string& without = "") {
  const std::pair<const char*, const char*> members[] = {
      {"model_type", "\"llama\""},         {"hidden_size", "64"},        {"num_hidden_layers", "2"},
      {"num_attention_heads", "4"},        {"intermediate_size", "176"}, {"vocab_size", "259"},
      {"max_position_embeddings", "2048"},
  };
  std::string text = "{";
  for (const auto& [key, value] : members) {
    if (key != without) text += fmt::format("\"{}\": {}, ", key, value);
  }
  return text + (extra.empty() ? "\"use_cache\": true" : extra) + "}";
}

ModelShape shape_of(const std::string& text) {
  return parse_hf_config(text, "m/config.json");
}

std::string error_of(const std::string& text) {
  return error_text(ErrorCode::config, [&] { shape_of(text); });
}

TEST(HfConfig, FillsDefaultsAsTransformersDoes) {
  const ModelShape shape = shape_of(config());

  EXPECT_EQ(shape.family, "llama");
  EXPECT_EQ(shape.layers, 2);
  EXPECT_EQ(shape.hidden, 64);
  EXPECT_EQ(shape.heads, 4);
  EXPECT_EQ(shape.kv_heads, 4);
  EXPECT_EQ(shape.head_dim, 16);
  EXPECT_EQ(shape.ffn, 176);
  EXPECT_EQ(shape.vocab, 259);
  EXPECT_EQ(shape.max_position, 2048);
  EXPECT_EQ(shape.norm_eps, 1e-6);
  EXPECT_EQ(shape.rope_theta, 10000.0);
  EXPECT_EQ(shape.rope_scaling.type, "default");
  EXPECT_FALSE(shape.tie_embeddings);
  EXPECT_FALSE(shape.qkv_bias);
}

TEST(HfConfig, ReadsWhatIsGiven) {
  const ModelShape shape = shape_of(config(
      R"("num_key_value_heads": 2, "head_dim": 32, "rms_norm_eps": 1e-5, "rope_theta": 500000,
         "tie_word_embeddings": true, "initializer_range": 0.01, "rope_scaling": null,
         "hidden_act": "silu", "attention_bias": false, "torch_dtype": "bfloat16")"));

  EXPECT_EQ(shape.kv_heads, 2);
  EXPECT_EQ(shape.head_dim, 32);
  EXPECT_EQ(shape.norm_eps, 1e-5);
  EXPECT_EQ(shape.rope_theta, 500000.0);
  EXPECT_TRUE(shape.tie_embeddings);
  EXPECT_EQ(shape.init_std, 0.01);
}

TEST(HfConfig, ReadsRotaryScalingInOldAndNewWords) {
  const std::string llama3 =
      R"("factor": 32.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
         "original_max_position_embeddings": 8192})";
  const std::string texts[] = {
      R"("rope_theta": 5e5, "rope_scaling": {"rope_type": "llama3", )" + llama3,
      R"("rope_theta": 5e5, "rope_scaling": {"type": "llama3", )" + llama3,
      R"("rope_parameters": {"rope_theta": 5e5, "rope_type": "llama3", )" + llama3,
  };

  for (const std::string& text : texts) {
    const ModelShape shape = shape_of(config(text));

    EXPECT_EQ(shape.rope_theta, 5e5) << text;
    EXPECT_EQ(shape.rope_scaling.type, "llama3") << text;
    EXPECT_EQ(shape.rope_scaling.factor, 32.0) << text;
    EXPECT_EQ(shape.rope_scaling.low_freq_factor, 1.0) << text;
    EXPECT_EQ(shape.rope_scaling.high_freq_factor, 4.0) << text;
    EXPECT_EQ(shape.rope_scaling.original_max_position, 8192) << text;
  }
}

TEST(HfConfig, ReadsLinearScaling) {
  const ModelShape shape = shape_of(config(R"("rope_scaling": {"type": "linear", "factor": 2})"));

  EXPECT_EQ(shape.rope_scaling.type, "linear");
  EXPECT_EQ(shape.rope_scaling.factor, 2.0);
}

TEST(HfConfig, GivesQwen2ItsBias) {
  const ModelShape shape =
      shape_of(config(R"("model_type": "qwen2", "num_key_value_heads": 2)", "model_type"));

  EXPECT_TRUE(shape.qkv_bias);
}

TEST(HfConfig, EndsPositionsWhereASlidingWindowWouldBegin) {
  const std::string mistral = R"("model_type": "mistral", "num_key_value_heads": 2, )";
  const std::string qwen2 = R"("model_type": "qwen2", "num_key_value_heads": 2, )";
  const auto positions = [](const std::string& extra) {
    return shape_of(config(extra, "model_type")).max_position;
  };

  EXPECT_EQ(positions(mistral + R"("sliding_window": 512)"), 512);
  EXPECT_EQ(positions(mistral + R"("sliding_window": null)"), 2048);
  EXPECT_EQ(positions(qwen2 + R"("sliding_window": 512)"), 2048);
  EXPECT_EQ(positions(qwen2 + R"("sliding_window": 512, "use_sliding_window": true)"), 512);
}

struct BadConfig {
  const char* name;
  std::string extra;
  std::string without;
  std::string message;
};

class BadHfConfig : public testing::TestWithParam<BadConfig> {};

TEST_P(BadHfConfig, IsRefusedWithKeyAndValue) {
  const std::string text = error_of(config(GetParam().extra, GetParam().without));

  EXPECT_THAT(text, AllOf(HasSubstr("m/config.json: "), HasSubstr(GetParam().message)));
}

const BadConfig kBadConfigs[] = {
    {"Family", R"("model_type": "gpt2")", "model_type",
     "\"model_type\" is \"gpt2\"; supported: llama, mistral, qwen2"},
    {"NoFamily", "", "model_type", "\"model_type\" is missing"},
    {"NoLayers", "", "num_hidden_layers", "\"num_hidden_layers\" is missing"},
    {"ZeroLayers", R"("num_hidden_layers": 0)", "num_hidden_layers",
     "\"num_hidden_layers\" is \"0\"; must be an integer in [1, "},
    {"TextHidden", R"("hidden_size": "64")", "hidden_size", "\"hidden_size\" is "},
    {"FractionalHidden", R"("hidden_size": 64.0)", "hidden_size", "\"hidden_size\" is \"64.0\""},
    {"HugeVocab", R"("vocab_size": 18446744073709551615)", "vocab_size",
     "\"vocab_size\" is \"18446744073709551615\""},
    {"ListVocab", R"("vocab_size": [1])", "vocab_size", "\"vocab_size\" is array"},
    {"KvHeads", R"("num_key_value_heads": 3)", "", "must divide num_attention_heads = 4"},
    {"MistralKvHeads", R"("model_type": "mistral")", "model_type",
     "\"num_key_value_heads\" is missing"},
    {"Heads", R"("num_attention_heads": 5)", "num_attention_heads",
     "\"num_attention_heads\" is 5; must divide hidden_size = 64"},
    {"OddHead", R"("head_dim": 15)", "", "\"head_dim\" is 15; must be even"},
    {"Eps", R"("rms_norm_eps": 0)", "", "\"rms_norm_eps\" is \"0\"; must be a number > 0"},
    {"Tied", R"("tie_word_embeddings": 1)", "", "must be true or false"},
    {"Act", R"("hidden_act": "gelu")", "",
     "\"hidden_act\" is \"gelu\"; supported: silu, swish, gelu_pytorch_tanh, gelu_new"},
    {"AttentionBias", R"("attention_bias": true)", "", "\"attention_bias\" is true"},
    {"MlpBias", R"("mlp_bias": true)", "", "\"mlp_bias\" is true"},
    {"Quantised", R"("quantization_config": {"bits": 4})", "", "quantised weights"},
    {"PartialRotation", R"("partial_rotary_factor": 0.5)", "", "partial rotation"},
    {"Yarn", R"("rope_scaling": {"rope_type": "yarn", "factor": 4})", "",
     "\"rope_scaling\": \"rope_type\" is \"yarn\"; supported: default, linear, llama3"},
    {"Dynamic", R"("rope_scaling": {"type": "dynamic", "factor": 4})", "",
     "\"type\" is \"dynamic\"; supported"},
    {"NoFactor", R"("rope_scaling": {"type": "linear"})", "", "\"factor\" is missing"},
    {"Frequencies",
     R"("rope_scaling": {"type": "llama3", "factor": 2, "low_freq_factor": 4,
        "high_freq_factor": 4, "original_max_position_embeddings": 8})",
     "", "\"high_freq_factor\" is 4; must be above low_freq_factor = 4"},
    {"ScalingIsAList", R"("rope_scaling": [1])", "",
     "\"rope_scaling\" is array; must be an object"},
};

INSTANTIATE_TEST_SUITE_P(All, BadHfConfig, testing::ValuesIn(kBadConfigs),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(HfConfig, RefusesWhatIsNoJsonObject) {
  EXPECT_THAT(error_of("{\"a\": "),
              AllOf(HasSubstr("m/config.json is not JSON"), HasSubstr("line 1, column 7")));
  EXPECT_THAT(error_of("{\"a\": 1e999}"), HasSubstr("number overflow"));
  EXPECT_THAT(error_of("[]"), HasSubstr("m/config.json must hold an object"));
}

TEST(HfConfig, IsReadFromTheFolder) {
  const TempDir dir;
  dir.write("config.json", config());

  EXPECT_EQ(read_hf_config(dir.path("")).layers, 2);
  EXPECT_THAT(error_text(ErrorCode::config, [] { read_hf_config("/nowhere"); }),
              HasSubstr("/nowhere/config.json"));
}

}  // namespace
}  // namespace muster::runtime
