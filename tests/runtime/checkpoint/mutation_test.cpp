#include <functional>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kernels/base/error.hpp"
#include "runtime/checkpoint/file_io.hpp"
#include "runtime/checkpoint/hf_config.hpp"
#include "runtime/checkpoint/index.hpp"
#include "runtime/checkpoint/safetensors.hpp"
#include "runtime/checkpoint/trainer_state.hpp"
#include "tests/runtime/checkpoint/safetensors_text.hpp"
#include "tests/support/mutate.hpp"

namespace muster::runtime {
namespace {

constexpr int kRounds = 5'000;

/// A file in memory with a path of its own.
class MemoryFile {
 public:
  explicit MemoryFile(const std::string& bytes) : fd_(::memfd_create("mutated", MFD_CLOEXEC)) {
    const ssize_t put = ::write(fd_.get(), bytes.data(), bytes.size());
    if (put != static_cast<ssize_t>(bytes.size())) std::abort();
  }
  std::string path() const { return fmt::format("/proc/self/fd/{}", fd_.get()); }

 private:
  Fd fd_;
};

/// Counts how many of `rounds` damaged copies `use` takes; it may refuse with Error(config) only.
int taken_of(const std::string& whole, int rounds, const std::function<void(std::string)>& use) {
  Mutator mutator(21);
  int taken = 0;
  for (int i = 0; i < rounds; ++i) {
    try {
      use(mutator.mutate(whole));
      ++taken;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::config) << error.what();
    }
  }
  return taken;
}

TEST(SafetensorsFile, TakesADamagedFileOnlyIfEveryTensorLiesInIt) {
  const std::string header =
      "{\"__metadata__\":{\"format\":\"pt\"}," + entry("a", "F32", "[2,3]", "[0,24]") + "," +
      entry("b", "BF16", "[]", "[24,26]") + "," + entry("empty", "I64", "[0,5]", "[26,26]") + "}  ";
  const std::string whole = safetensors(header, std::string(26, 'x'));

  const int taken = taken_of(whole, kRounds, [](const std::string& bytes) {
    const MemoryFile memory(bytes);
    const SafetensorsFile file(memory.path());
    std::int64_t total = 0;
    for (const TensorInfo& tensor : file.tensors()) {
      EXPECT_GE(tensor.offset, 8);
      EXPECT_LE(tensor.offset + tensor.bytes, std::ssize(bytes));
      EXPECT_GE(tensor.count, 0);
      total += tensor.bytes;
    }
    EXPECT_LE(total, std::ssize(bytes));
  });

  EXPECT_GT(taken, 20);
}

TEST(SafetensorsFile, TakesADamagedHeaderOfTheRightLengthOnlyIfItIsSound) {
  const std::string header = fmt::format("{{{},{}}}", entry("a", "F32", "[2,3]", "[0,24]"),
                                         entry("b", "U8", "[2]", "[24,26]"));

  const int taken = taken_of(header, kRounds, [](const std::string& text) {
    const MemoryFile memory(safetensors(text, std::string(26, 'x')));
    const SafetensorsFile file(memory.path());
    std::int64_t total = 0;
    for (const TensorInfo& tensor : file.tensors()) total += tensor.bytes;
    EXPECT_EQ(total, 26);
  });

  EXPECT_GT(taken, 20);
}

TEST(HfConfig, IsTakenOrRefusedHoweverDamaged) {
  const std::string whole =
      R"({"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 2,
          "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 176,
          "vocab_size": 259, "max_position_embeddings": 2048, "rms_norm_eps": 1e-05,
          "rope_scaling": {"rope_type": "linear", "factor": 2.0}, "tie_word_embeddings": true})";

  const int taken = taken_of(whole, kRounds, [](const std::string& text) {
    const ModelShape shape = parse_hf_config(text, "config.json");
    EXPECT_EQ(shape.heads % shape.kv_heads, 0);
    EXPECT_EQ(shape.head_dim % 2, 0);
    EXPECT_GT(shape.rope_theta, 0);
  });

  EXPECT_GT(taken, 20);
}

TEST(Index, IsTakenOrRefusedHoweverDamaged) {
  Index index;
  index["param/a"] = {.dtype = Dtype::f32,
                      .shape = {4, 2},
                      .chunks = {{"shard-00000.safetensors", 0, 5, "0123456789abcdef"},
                                 {"shard-00001.safetensors", 5, 3, "0123456789abcdef"}}};

  const int taken = taken_of(to_json(index), kRounds, [](const std::string& text) {
    for (const auto& [key, part] : parse_index(text, "index.json")) {
      for (const IndexChunk& chunk : part.chunks) {
        EXPECT_LE(chunk.begin + chunk.count, part.count());
      }
    }
  });

  EXPECT_GT(taken, 20);
}

TEST(TrainerState, IsTakenOrRefusedHoweverDamaged) {
  const std::string whole = to_json(TrainerState{.step = 3, .config = "[job]\n"});

  const int taken = taken_of(
      whole, kRounds, [](const std::string& text) { parse_trainer_state(text, "trainer.json"); });

  EXPECT_GT(taken, 20);
}

}  // namespace
}  // namespace muster::runtime
