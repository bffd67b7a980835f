#include "runtime/train/weights.hpp"

#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "kernels/devices.hpp"
#include "runtime/model/llama.hpp"

namespace muster::runtime {
namespace {

const ModelShape kShape{.layers = 3,
                        .hidden = 24,
                        .heads = 4,
                        .kv_heads = 2,
                        .head_dim = 6,
                        .ffn = 40,
                        .vocab = 50,
                        .max_position = 8,
                        .qkv_bias = true};

class WeightsTest : public testing::Test {
 protected:
  std::unique_ptr<kernels::Device> device_ = kernels::open_device("cpu", {.threads = 1});
  Registry registry_ = make_registry(build_llama(kShape, {1, 8}), {"norm"});
  ParameterStore store_{registry_, {.compute = Dtype::bf16}, device_->memory(), device_->memory()};

  const float* tensor(const std::string& name, std::int64_t* count = nullptr) const {
    const int index = registry_.find_tensor(name);
    for (const LogicalTensor& logical : registry_.parameter(index).tensors) {
      if (logical.name != name) continue;
      if (count != nullptr) *count = logical.count();
      return store_.view(Origin::master, index).row<float>(0) + logical.begin;
    }
    return nullptr;
  }
};

TEST_F(WeightsTest, BeginNormalWithTheStandardDeviationOfTheirKind) {
  initialise(store_, registry_, 7);

  std::int64_t count = 0;
  const float* gate = tensor("model.layers.1.mlp.gate_proj.weight", &count);
  double squares = 0.0;
  for (std::int64_t i = 0; i < count; ++i) squares += std::pow(gate[i], 2);
  // 960 draws: the deviation's own relative error is 2.3 %; five of those.
  EXPECT_NEAR(std::sqrt(squares / static_cast<double>(count)), 0.02, 0.02 * 0.115);
  EXPECT_EQ(tensor("model.norm.weight")[3], 1.0F);
  EXPECT_EQ(tensor("model.layers.0.self_attn.k_proj.bias")[0], 0.0F);
}

TEST_F(WeightsTest, BeginDifferentlyForEveryTensorAndSeed) {
  initialise(store_, registry_, 7);
  const float first = tensor("model.layers.0.mlp.up_proj.weight")[0];
  const float other = tensor("model.layers.1.mlp.up_proj.weight")[0];
  initialise(store_, registry_, 8);

  EXPECT_NE(first, other);
  EXPECT_NE(tensor("model.layers.0.mlp.up_proj.weight")[0], first);
}

TEST_F(WeightsTest, AreSharedOutOnceOverAllRanks) {
  for (const int world : {1, 2, 3, 7, 64}) {
    std::map<std::string, int> seen;
    for (int rank = 0; rank < world; ++rank) {
      for (const Chunk& chunk : chunks_to_write(store_, registry_, rank, world)) {
        ++seen[chunk.state + "/" + chunk.name];
        EXPECT_EQ(chunk.begin, 0);
      }
    }
    std::size_t tensors = 0;
    for (const Parameter& parameter : registry_.parameters()) tensors += parameter.tensors.size();
    EXPECT_EQ(seen.size(), 3 * tensors) << world;  // weights and two moments
    for (const auto& [key, times] : seen) EXPECT_EQ(times, 1) << key;
  }
}

}  // namespace
}  // namespace muster::runtime
