#include <cmath>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "runtime/checkpoint/hf_config.hpp"
#include "runtime/checkpoint/hf_weights.hpp"

namespace muster::runtime {
namespace {

using testing::ElementsAre;

/// Folders that transformers wrote.
std::string folder_of(const std::string& model) {
  return std::string(MUSTER_FIXTURES "/parity/") + model;
}

class HfFolder : public testing::TestWithParam<const char*> {};

TEST_P(HfFolder, HasTheTensorsAndShapesItsConfigSays) {
  const ModelShape shape = read_hf_config(folder_of(GetParam()));
  const HfWeights weights(folder_of(GetParam()));

  EXPECT_THAT(weights.shape("model.embed_tokens.weight"), ElementsAre(shape.vocab, shape.hidden));
  EXPECT_THAT(weights.shape("model.layers.1.mlp.down_proj.weight"),
              ElementsAre(shape.hidden, shape.ffn));
  EXPECT_THAT(weights.shape("model.layers.0.self_attn.k_proj.weight"),
              ElementsAre(shape.kv_heads * shape.head_dim, shape.hidden));
  EXPECT_EQ(weights.has("lm_head.weight"), !shape.tie_embeddings);
  EXPECT_EQ(weights.has("model.layers.0.self_attn.q_proj.bias"), shape.qkv_bias);
  std::vector<float> norm(static_cast<std::size_t>(shape.hidden));
  weights.read("model.norm.weight", 0, shape.hidden, Dtype::f32, norm.data());
  for (const float value : norm) EXPECT_NEAR(value, 1.0F, 0.5F);
}

INSTANTIATE_TEST_SUITE_P(All, HfFolder,
                         testing::Values("tiny-llama", "tiny-gqa", "tiny-qwen2", "tiny-geglu"));

TEST(HfFixtures, HaveTheScalingTheyWereMadeWith) {
  const ModelShape shape = read_hf_config(folder_of("tiny-gqa"));

  EXPECT_EQ(shape.rope_scaling.type, "llama3");
  EXPECT_EQ(shape.rope_scaling.factor, 4.0);
  EXPECT_EQ(shape.rope_scaling.original_max_position, 128);
  EXPECT_EQ(shape.rope_theta, 10000.0);
  EXPECT_EQ(shape.head_dim, 8);
}

}  // namespace
}  // namespace muster::runtime
