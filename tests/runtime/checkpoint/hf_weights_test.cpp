#include "runtime/checkpoint/hf_weights.hpp"

#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include "tests/support/error_text.hpp"
#include "tests/support/temp_dir.hpp"

namespace muster::runtime {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

const std::vector<float> kValues = {1, 2, 3, 4, 5, 6};

/// Writes tensors [2, 3] of f32 under these names, all with kValues.
void write_tensors(const TempDir& dir, const std::string& file,
                   const std::vector<std::string>& names) {
  std::vector<TensorData> tensors;
  for (const std::string& name : names) {
    tensors.push_back(
        {name, Dtype::f32, {2, 3}, reinterpret_cast<const std::byte*>(kValues.data())});
  }
  write_safetensors(dir.path(file), tensors);
}

std::string error_of(const TempDir& dir) {
  return error_text(ErrorCode::config, [&] { HfWeights weights(dir.path("")); });
}

TEST(HfWeights, ReadsRangesOfASingleFile) {
  const TempDir dir;
  write_tensors(dir, "model.safetensors", {"a.weight", "model.layers.0.rotary_emb.inv_freq"});
  const HfWeights weights(dir.path(""));
  std::vector<float> out(2);

  weights.read("a.weight", 3, 2, Dtype::f32, out.data());

  EXPECT_THAT(out, ElementsAre(4, 5));
  EXPECT_THAT(weights.names(), ElementsAre("a.weight"));
  EXPECT_THAT(weights.shape("a.weight"), ElementsAre(2, 3));
  EXPECT_EQ(weights.dtype("a.weight"), Dtype::f32);
  EXPECT_TRUE(weights.has("a.weight"));
}

TEST(HfWeights, ReadsTheFilesOfAnIndex) {
  const TempDir dir;
  write_tensors(dir, "model-00001-of-00002.safetensors", {"a", "x.rotary_emb.inv_freq"});
  write_tensors(dir, "model-00002-of-00002.safetensors", {"b"});
  dir.write("model.safetensors.index.json",
            R"({"metadata": {"total_size": 48}, "weight_map": {
                "a": "model-00001-of-00002.safetensors",
                "x.rotary_emb.inv_freq": "model-00001-of-00002.safetensors",
                "b": "model-00002-of-00002.safetensors"}})");
  const HfWeights weights(dir.path(""));
  float last = 0;

  weights.read("b", 5, 1, Dtype::f32, &last);

  EXPECT_EQ(last, 6);
  EXPECT_THAT(weights.names(), ElementsAre("a", "b"));
}

TEST(HfWeights, NamesAMissingTensorAndTheNearest) {
  const TempDir dir;
  write_tensors(dir, "model.safetensors", {"model.layers.0.mlp.up_proj.weight"});
  const HfWeights weights(dir.path(""));
  float out = 0;

  const std::string text = error_text(ErrorCode::config, [&] {
    weights.read("model.layers.0.mlp.up_proj.bias", 0, 1, Dtype::f32, &out);
  });

  EXPECT_THAT(text, AllOf(HasSubstr("no tensor \"model.layers.0.mlp.up_proj.bias\""),
                          HasSubstr("nearest: \"model.layers.0.mlp.up_proj.weight\"")));
}

TEST(HfWeights, NamesADtypeItCannotComputeWith) {
  const TempDir dir;
  const std::string header = R"({"a":{"dtype":"F8_E4M3","shape":[1],"data_offsets":[0,1]}})";
  dir.write("model.safetensors",
            std::string(1, static_cast<char>(header.size())) + std::string(7, '\0') + header + "x");
  const HfWeights weights(dir.path(""));

  EXPECT_THAT(error_text(ErrorCode::config, [&] { weights.dtype("a"); }),
              HasSubstr("is F8_E4M3, which is not supported"));
}

TEST(HfWeights, RefusesARangeOutsideTheTensor) {
  const TempDir dir;
  write_tensors(dir, "model.safetensors", {"a"});
  const HfWeights weights(dir.path(""));
  std::vector<float> out(8);
  const std::vector<std::pair<std::int64_t, std::int64_t>> ranges = {
      {0, 7}, {6, 1}, {7, 0}, {-1, 1}, {0, -1}, {1, INT64_MAX}};

  for (const auto& range : ranges) {
    const std::string text = error_text(ErrorCode::invalid_argument, [&] {
      weights.read("a", range.first, range.second, Dtype::f32, out.data());
    });

    EXPECT_THAT(text, HasSubstr("tensor \"a\", which has 6"));
  }
}

TEST(HfWeights, NamesWhatAFolderLacks) {
  const TempDir dir;
  EXPECT_THAT(error_of(dir), HasSubstr("has neither model.safetensors nor"));

  dir.write("pytorch_model.bin", "x");
  EXPECT_THAT(error_of(dir), HasSubstr("pytorch_model.bin is not read"));
}

struct BadIndex {
  const char* name;
  std::string index;
  std::string message;
};

class BadWeightIndex : public testing::TestWithParam<BadIndex> {};

TEST_P(BadWeightIndex, IsRefused) {
  const TempDir dir;
  write_tensors(dir, "1.safetensors", {"a"});
  write_tensors(dir, "2.safetensors", {"a", "b"});
  dir.write("model.safetensors.index.json", GetParam().index);

  EXPECT_THAT(error_of(dir), HasSubstr(GetParam().message));
}

const BadIndex kBadIndexes[] = {
    {"NotJson", "{", "has no \"weight_map\""},
    {"NoMap", "{}", "has no \"weight_map\""},
    {"EmptyMap", R"({"weight_map": {}})", "has no \"weight_map\""},
    {"FileIsANumber", R"({"weight_map": {"a": 1}})", "the file of tensor \"a\" is not a string"},
    {"FileOutside", R"({"weight_map": {"a": "../1.safetensors"}})",
     "\"../1.safetensors\", which is not a name inside the folder"},
    {"FileIsMissing", R"({"weight_map": {"a": "3.safetensors"}})", "3.safetensors: No such file"},
    {"TensorIsMissing", R"({"weight_map": {"c": "1.safetensors"}})",
     "tensor \"c\" should be in 1.safetensors but is not"},
    {"TensorInOtherFile", R"({"weight_map": {"b": "1.safetensors", "a": "1.safetensors"}})",
     "tensor \"b\" should be in 1.safetensors but is not"},
    {"TensorTwice", R"({"weight_map": {"a": "1.safetensors", "b": "2.safetensors"}})",
     "tensor \"a\" is in two files"},
};

INSTANTIATE_TEST_SUITE_P(All, BadWeightIndex, testing::ValuesIn(kBadIndexes),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace muster::runtime
