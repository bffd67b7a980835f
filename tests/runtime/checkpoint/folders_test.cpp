#include "runtime/checkpoint/folders.hpp"

#include <chrono>
#include <filesystem>
#include <string>

#include <gmock/gmock.h>

#include "runtime/checkpoint/reader.hpp"
#include "tests/runtime/checkpoint/small_checkpoint.hpp"
#include "tests/support/temp_dir.hpp"

namespace muster::runtime {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;

TEST(CompleteSteps, AreOrderedByNumberAndNotByNameOrTime) {
  const TempDir dir;
  for (const std::int64_t step : {100, 9, 20}) write_checkpoint(dir.path(""), step, 1);
  fs::last_write_time(step_folder(dir.path(""), 9),
                      fs::file_time_type::clock::now() + std::chrono::hours(24));

  EXPECT_THAT(complete_steps(dir.path("")), ElementsAre(9, 20, 100));
  EXPECT_EQ(CheckpointReader::newest(dir.path("")), 100);
}

TEST(CompleteSteps, PassOverWhatIsNotComplete) {
  const TempDir dir;
  const std::string mark = "0123456789abcdef 0123456789abcdef";
  write_checkpoint(dir.path(""), 5, 1);
  for (const char* name :
       {"step-x/DONE", "step-08/DONE", "step--9/DONE", ".step-10.tmp/DONE", "step-1e3/DONE"}) {
    dir.write(std::string("checkpoints/") + name, mark + "\n");
  }
  dir.write("checkpoints/step-6/index.json", "{}");
  dir.write("checkpoints/step-7/DONE", "");
  dir.write("checkpoints/step-11", "a file");
  dir.write("checkpoints/step-12/DONE", mark);  // the newline is missing: cut off
  dir.write("checkpoints/step-13/DONE", mark.substr(1) + "\n");

  EXPECT_THAT(complete_steps(dir.path("")), ElementsAre(5));
}

TEST(CompleteSteps, AreNoneWithoutAFolder) {
  EXPECT_THAT(complete_steps("/nowhere"), IsEmpty());
}

TEST(Prune, KeepsTheNewestByStep) {
  const TempDir dir;
  for (const std::int64_t step : {9, 100, 20, 3}) write_checkpoint(dir.path(""), step, 1);

  prune(dir.path(""), 2);

  EXPECT_THAT(complete_steps(dir.path("")), ElementsAre(20, 100));
  EXPECT_FALSE(fs::exists(step_folder(dir.path(""), 9)));
}

TEST(Prune, RemovesNothingWhenThereAreFew) {
  const TempDir dir;
  write_checkpoint(dir.path(""), 3, 1);

  prune(dir.path(""), 5);

  EXPECT_THAT(complete_steps(dir.path("")), ElementsAre(3));
}

TEST(Prune, LeavesIncompleteFoldersAlone) {
  const TempDir dir;
  for (const std::int64_t step : {3, 4}) write_checkpoint(dir.path(""), step, 1);
  dir.write("checkpoints/step-1/shard-00000.safetensors", "x");

  prune(dir.path(""), 1);

  EXPECT_TRUE(fs::exists(step_folder(dir.path(""), 1)));
  EXPECT_THAT(complete_steps(dir.path("")), ElementsAre(4));
}

TEST(RemoveLeftovers, TakesTemporaryAndIncompleteFoldersOnly) {
  const TempDir dir;
  write_checkpoint(dir.path(""), 5, 1);
  dir.write("checkpoints/.step-6.tmp/shard-00000.safetensors", "x");
  dir.write("checkpoints/step-4/shard-00000.safetensors", "x");
  dir.write("checkpoints/notes.txt", "mine");
  dir.write("checkpoints/.hidden/x", "mine");

  remove_leftovers(dir.path(""));

  EXPECT_THAT(complete_steps(dir.path("")), ElementsAre(5));
  EXPECT_FALSE(fs::exists(temporary_step_folder(dir.path(""), 6)));
  EXPECT_FALSE(fs::exists(step_folder(dir.path(""), 4)));
  EXPECT_TRUE(fs::exists(dir.path("checkpoints/notes.txt")));
  EXPECT_TRUE(fs::exists(dir.path("checkpoints/.hidden/x")));
}

TEST(RemoveLeftovers, IsFineWithoutAFolder) {
  EXPECT_NO_THROW(remove_leftovers("/nowhere"));
}

}  // namespace
}  // namespace muster::runtime
