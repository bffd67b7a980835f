#include "runtime/model/llama.hpp"

#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "kernels/base/error.hpp"
#include "runtime/model/families.hpp"

namespace muster::runtime {
namespace {

/// Llama-3.2-1B's rotary part.
ModelShape llama_3_2_1b() {
  ModelShape shape{.head_dim = 64, .rope_theta = 5e5};
  shape.rope_scaling = {.type = "llama3",
                        .factor = 32.0,
                        .low_freq_factor = 1.0,
                        .high_freq_factor = 4.0,
                        .original_max_position = 8192};
  return shape;
}

// Values: transformers' modeling_rope_utils.py for the published configurations.
TEST(RopeFrequencies, FollowLlama3Scaling) {
  const std::vector<double> frequencies = rope_frequencies(llama_3_2_1b());

  const std::vector<double> expected{3.21144611e-3, 1.29054801e-3, 4.29556705e-4, 9.70828623e-5,
                                     1.94616387e-5, 1.29147675e-5, 8.57025589e-6};
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(frequencies[14 + i] / expected[i], 1.0, 1e-6) << "i = " << 14 + i;
  }
  EXPECT_NEAR(frequencies[31] / 9.41830649e-8, 1.0, 1e-6);
}

TEST(RopeFrequencies, FollowLlama31ScalingWithHeadsOf128) {
  ModelShape shape = llama_3_2_1b();
  shape.head_dim = 128;
  shape.rope_scaling.factor = 8.0;

  const std::vector<double> frequencies = rope_frequencies(shape);

  EXPECT_NEAR(frequencies[31] / 8.5675146e-4, 1.0, 1e-6);
  EXPECT_NEAR(frequencies[34] / 1.78507791e-4, 1.0, 1e-6);
  EXPECT_NEAR(frequencies[63] / 3.06892588e-7, 1.0, 1e-6);
}

TEST(RopeFrequencies, AreDividedByALinearFactor) {
  ModelShape shape{.head_dim = 4, .rope_theta = 100.0};
  shape.rope_scaling = {.type = "linear", .factor = 2.0};

  EXPECT_EQ(rope_frequencies(shape), (std::vector<double>{0.5, 0.05}));
}

TEST(BuildLlama, NamesItsTensorsAsHuggingFaceDoes) {
  const ModelShape shape{.layers = 2,
                         .hidden = 8,
                         .heads = 2,
                         .kv_heads = 1,
                         .head_dim = 4,
                         .ffn = 12,
                         .vocab = 16,
                         .max_position = 4,
                         .qkv_bias = true};

  const Registry registry = make_registry(build_llama(shape, {1, 4}), {"norm", "bias"});

  const int qkv = registry.find_tensor("model.layers.1.self_attn.k_proj.weight");
  ASSERT_GE(qkv, 0);
  const Parameter& parameter = registry.parameter(qkv);
  EXPECT_EQ(parameter.rows, 8 + 4 + 4);
  EXPECT_EQ(parameter.tensors[1].shape, (std::vector<std::int64_t>{4, 8}));
  EXPECT_EQ(parameter.tensors[1].begin, 8 * 8);
  const int bias = registry.find_tensor("model.layers.1.self_attn.v_proj.bias");
  ASSERT_GE(bias, 0);
  EXPECT_EQ(registry.parameter(bias).tensors[2].shape, (std::vector<std::int64_t>{4}));
  EXPECT_FALSE(registry.parameter(bias).decays);
  EXPECT_GE(registry.find_tensor("lm_head.weight"), 0);
  // embedding, head, final norm; per layer 2 norms, q k v o with 3 biases, gate up down
  EXPECT_EQ(registry.elements(),
            2 * 16 * 8 + 8 + 2 * (2 * 8 + 16 * 8 + 16 + 8 * 8 + 2 * 12 * 8 + 8 * 12));
}

TEST(BuildLlama, HasOneWeightForBothEndsWhenTied) {
  const ModelShape shape{.layers = 1,
                         .hidden = 8,
                         .heads = 2,
                         .kv_heads = 2,
                         .head_dim = 4,
                         .ffn = 12,
                         .vocab = 16,
                         .max_position = 4,
                         .tie_embeddings = true};

  const Registry registry = make_registry(build_llama(shape, {1, 4}), {"norm"});

  EXPECT_EQ(registry.find_tensor("lm_head.weight"), -1);
  EXPECT_GE(registry.find_tensor("model.embed_tokens.weight"), 0);
}

TEST(BuildModel, NamesTheFamiliesThereAre) {
  try {
    build_model({.family = "lama"}, {1, 4});
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unsupported);
    EXPECT_NE(std::string(error.what()).find("llama"), std::string::npos);
  }
}

}  // namespace
}  // namespace muster::runtime
