#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "runtime/checkpoint/folders.hpp"
#include "runtime/checkpoint/reader.hpp"
#include "runtime/checkpoint/writer.hpp"
#include "tests/runtime/checkpoint/small_checkpoint.hpp"
#include "tests/support/error_text.hpp"
#include "tests/support/temp_dir.hpp"

namespace muster::runtime {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) {
    names.push_back(entry.path().filename().string());
  }
  return names;
}

class WrittenBy : public testing::TestWithParam<int> {};

TEST_P(WrittenBy, SoManyRanksReadsBackInAnyRanges) {
  const TempDir dir;
  write_checkpoint(dir.path(""), 5, GetParam());
  const CheckpointReader reader(dir.path(""), 5);

  for (const std::int64_t parts : {1, 2, 3, 5, 30}) {
    for (const Tensor& tensor : small_tensors()) {
      const std::int64_t count = std::ssize(tensor.values);
      std::vector<float> back(tensor.values.size());
      for (std::int64_t part = 0; part < parts; ++part) {
        const std::int64_t begin = part * count / parts;
        const std::int64_t end = (part + 1) * count / parts;
        reader.read(tensor.name, tensor.state, begin, end - begin, Dtype::f32, back.data() + begin);
      }
      EXPECT_EQ(back, tensor.values) << tensor.state << " " << tensor.name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Worlds, WrittenBy, testing::Values(1, 2, 3, 4, 7, 40));

TEST(Checkpoint, KeepsTheTrainersState) {
  const TempDir dir;
  const TrainerState state{.step = 12,
                           .updates = 10,
                           .tokens = 1LL << 40,
                           .samples = 96,
                           .seed = 3,
                           .loss_scale = 0.1 + 0.2,
                           .clean_steps = 7,
                           .skips_at_min = 2,
                           .world = 4,
                           .config = "[job]\nname = \"é\\t\"\n"};
  write_checkpoint(dir.path(""), 12, 1, state);

  const CheckpointReader reader(dir.path(""), 12);

  EXPECT_EQ(reader.state().step, 12);
  EXPECT_EQ(reader.state().updates, 10);
  EXPECT_EQ(reader.state().tokens, 1LL << 40);
  EXPECT_EQ(reader.state().samples, 96);
  EXPECT_EQ(reader.state().seed, 3);
  EXPECT_EQ(reader.state().loss_scale, 0.1 + 0.2);
  EXPECT_EQ(reader.state().clean_steps, 7);
  EXPECT_EQ(reader.state().skips_at_min, 2);
  EXPECT_EQ(reader.state().world, 4);
  EXPECT_EQ(reader.state().config, state.config);
}

TEST(Checkpoint, LeavesItsFilesAndNoOther) {
  const TempDir dir;
  write_checkpoint(dir.path(""), 5, 2);

  EXPECT_THAT(names_in(checkpoints_folder(dir.path(""))), ElementsAre("step-5"));
  EXPECT_THAT(names_in(step_folder(dir.path(""), 5)),
              UnorderedElementsAre("DONE", "index.json", "trainer.json", "shard-00000.safetensors",
                                   "shard-00001.safetensors"));
}

TEST(Checkpoint, ConvertsToTheDtypeAskedFor) {
  const TempDir dir;
  write_checkpoint(dir.path(""), 1, 2);
  const CheckpointReader reader(dir.path(""), 1);
  Bfloat16 value;

  reader.read("a", "param", 2, 1, Dtype::bf16, &value);

  EXPECT_EQ(static_cast<float>(value), 2.0F);
}

TEST(Checkpoint, ReplacesOneOfTheSameStepAlsoOfMoreRanks) {
  const TempDir dir;
  write_checkpoint(dir.path(""), 5, 4);
  write_checkpoint(dir.path(""), 5, 2, {.step = 5, .tokens = 77});

  EXPECT_EQ(CheckpointReader(dir.path(""), 5).state().tokens, 77);
  EXPECT_EQ(names_in(step_folder(dir.path(""), 5)).size(), 5U);
}

TEST(Checkpoint, DropsShardsThatALargerRunLeftHalfWritten) {
  const TempDir dir;
  const fs::path leftover = temporary_step_folder(dir.path(""), 5) / shard_file(3);
  fs::create_directories(leftover.parent_path());
  std::ofstream(leftover) << "half";

  write_checkpoint(dir.path(""), 5, 2);

  EXPECT_FALSE(fs::exists(step_folder(dir.path(""), 5) / shard_file(3)));
}

TEST(CheckpointWriter, LeavesNothingWhenItIsAbandoned) {
  const TempDir dir;
  {
    CheckpointWriter first(dir.path(""), 5, 0, 2);
    CheckpointWriter second(dir.path(""), 5, 1, 2);
    first.write_shard(chunks_of(0, 2));
    second.write_shard(chunks_of(1, 2));
    second.abandon();
  }

  EXPECT_TRUE(names_in(checkpoints_folder(dir.path(""))).empty());
  EXPECT_EQ(CheckpointReader::newest(dir.path("")), std::nullopt);
}

TEST(CheckpointWriter, KeepsTheShardOfARankThatIsDoneBeforeRankZero) {
  const TempDir dir;
  CheckpointWriter first(dir.path(""), 5, 0, 2);
  {
    CheckpointWriter second(dir.path(""), 5, 1, 2);
    second.write_shard(chunks_of(1, 2));
  }
  first.write_shard(chunks_of(0, 2));

  first.finish({.step = 5});

  EXPECT_EQ(CheckpointReader::newest(dir.path("")), 5);
  EXPECT_EQ(first.folder(), step_folder(dir.path(""), 5));
}

TEST(CheckpointWriter, RefusesToFinishWithoutTheShardOfARank) {
  const TempDir dir;
  {
    CheckpointWriter writer(dir.path(""), 5, 0, 2);
    writer.write_shard(chunks_of(0, 2));

    const std::string text = error_text(ErrorCode::config, [&] { writer.finish({}); });

    EXPECT_THAT(text, AllOf(HasSubstr("shard-00001.json"), HasSubstr("the shard of rank 1")));
  }
  EXPECT_TRUE(names_in(checkpoints_folder(dir.path(""))).empty());
}

TEST(CheckpointWriter, RefusesTensorsWithAMissingOrDoubleElement) {
  const TempDir dir;
  const std::vector<float> values(8, 1.0F);
  const auto chunk = [&](std::int64_t begin, std::int64_t count) {
    return Chunk{
        "a", "m", Dtype::f32, {8}, begin, count, reinterpret_cast<const std::byte*>(values.data())};
  };
  const auto finish = [&](const std::vector<Chunk>& chunks) {
    return error_text(ErrorCode::io, [&] {
      CheckpointWriter writer(dir.path(""), 5, 0, 1);
      writer.write_shard(chunks);
      writer.finish({});
    });
  };

  EXPECT_THAT(finish({chunk(0, 3), chunk(4, 4)}), HasSubstr("element 3 of \"m/a\" is in no chunk"));
  EXPECT_THAT(finish({chunk(0, 7)}), HasSubstr("element 7 of \"m/a\" is in no chunk"));
  EXPECT_THAT(finish({chunk(0, 5), chunk(4, 4)}),
              HasSubstr("element 5 of \"m/a\" is in two chunks"));
}

TEST(CheckpointWriter, RefusesRanksThatDisagreeAboutAShape) {
  const TempDir dir;
  const std::vector<float> values(8, 1.0F);
  const auto* data = reinterpret_cast<const std::byte*>(values.data());
  CheckpointWriter first(dir.path(""), 5, 0, 2);
  CheckpointWriter second(dir.path(""), 5, 1, 2);
  first.write_shard(std::vector<Chunk>{{"a", "m", Dtype::f32, {8}, 0, 4, data}});
  second.write_shard(std::vector<Chunk>{{"a", "m", Dtype::f32, {2, 4}, 4, 4, data}});

  const std::string text = error_text(ErrorCode::io, [&] { first.finish({}); });

  EXPECT_THAT(text, HasSubstr("ranks disagree about \"m/a\": f32 [8] and f32 [2, 4]"));
}

TEST(CheckpointReader, NamesWhatIsThereWhenAStepIsNot) {
  const TempDir dir;
  EXPECT_THAT(error_text(ErrorCode::config, [&] { CheckpointReader(dir.path(""), 7); }),
              AllOf(HasSubstr("step-7"), HasSubstr("are: none")));

  write_checkpoint(dir.path(""), 5, 1);
  write_checkpoint(dir.path(""), 10, 1);
  EXPECT_THAT(error_text(ErrorCode::config, [&] { CheckpointReader(dir.path(""), 7); }),
              HasSubstr("are: 5, 10"));
}

TEST(CheckpointReader, OpensAnOutputFolderAndAStepsFolder) {
  const TempDir dir;
  write_checkpoint(dir.path("out"), 5, 1);
  write_checkpoint(dir.path("out"), 12, 1);

  EXPECT_EQ(CheckpointReader::open(dir.path("out")).state().step, 12);
  EXPECT_EQ(CheckpointReader::open(dir.path("out/checkpoints/step-5")).state().step, 5);
  EXPECT_THAT(error_text(ErrorCode::config, [&] { CheckpointReader::open(dir.path("")); }),
              HasSubstr("is no complete checkpoint and contains none"));
}

TEST(CheckpointReader, NamesAMissingTensorAndTheNearest) {
  const TempDir dir;
  write_checkpoint(dir.path(""), 5, 1);
  const CheckpointReader reader(dir.path(""), 5);
  float out = 0;

  EXPECT_TRUE(reader.has("a", "m"));
  EXPECT_FALSE(reader.has("a", "v"));
  EXPECT_THAT(
      error_text(ErrorCode::config,
                 [&] { reader.read("long.nam", "param", 0, 1, Dtype::f32, &out); }),
      AllOf(HasSubstr("no tensor \"param/long.nam\""), HasSubstr("nearest: \"param/long.name\"")));
  EXPECT_THAT(error_text(ErrorCode::invalid_argument,
                         [&] { reader.read("a", "m", 1, 1000, Dtype::f32, &out); }),
              HasSubstr("\"m/a\", which has 15"));
}

/// Turns over one bit of the byte `from_end` places before the end of a file.
void flip(const fs::path& file, std::int64_t from_end) {
  std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
  stream.seekg(-from_end, std::ios::end);
  const char byte = static_cast<char>(stream.get() ^ 1);
  stream.seekp(-from_end, std::ios::end);
  stream.put(byte);
}

TEST(CheckpointReader, FindsAFlippedBitInATensorAndNamesIt) {
  const TempDir dir;
  write_checkpoint(dir.path(""), 5, 1);
  flip(step_folder(dir.path(""), 5) / shard_file(0), 1);
  const CheckpointReader reader(dir.path(""), 5);
  std::vector<float> out(15);

  reader.read("a", "m", 0, 15, Dtype::f32, out.data());  // another tensor is whole
  const std::string text = error_text(
      ErrorCode::config, [&] { reader.read("scalar", "v", 0, 1, Dtype::f32, out.data()); });

  EXPECT_THAT(text, AllOf(HasSubstr("shard-00000.safetensors is damaged"),
                          HasSubstr("\"v/scalar@0\""), HasSubstr("checkpoint.resume")));
}

TEST(CheckpointReader, FindsAFlippedBitInItsTextFiles) {
  for (const char* file : {"index.json", "trainer.json"}) {
    const TempDir dir;
    write_checkpoint(dir.path(""), 5, 1);
    flip(step_folder(dir.path(""), 5) / file, 4);

    const std::string text =
        error_text(ErrorCode::config, [&] { CheckpointReader(dir.path(""), 5); });

    EXPECT_THAT(text, AllOf(HasSubstr(std::string(file) + " is damaged"), HasSubstr("DONE says")));
  }
}

TEST(CheckpointReader, FindsAShardThatIsCutOffOrGone) {
  const TempDir dir;
  write_checkpoint(dir.path(""), 5, 2);
  const fs::path shard = step_folder(dir.path(""), 5) / shard_file(1);

  fs::resize_file(shard, fs::file_size(shard) - 1);
  EXPECT_THAT(error_text(ErrorCode::config, [&] { CheckpointReader(dir.path(""), 5); }),
              AllOf(HasSubstr("shard-00001.safetensors"), HasSubstr("cut off")));
  fs::remove(shard);
  EXPECT_THAT(error_text(ErrorCode::config, [&] { CheckpointReader(dir.path(""), 5); }),
              AllOf(HasSubstr("shard-00001.safetensors"), HasSubstr("No such file")));
}

TEST(CheckpointReader, FindsAShardOfAnotherCheckpoint) {
  const TempDir dir;
  write_checkpoint(dir.path(""), 5, 2);
  write_checkpoint(dir.path(""), 6, 3);
  fs::copy_file(step_folder(dir.path(""), 6) / shard_file(1),
                step_folder(dir.path(""), 5) / shard_file(1), fs::copy_options::overwrite_existing);

  EXPECT_THAT(error_text(ErrorCode::config, [&] { CheckpointReader(dir.path(""), 5); }),
              HasSubstr("should hold"));
}

}  // namespace
}  // namespace muster::runtime
