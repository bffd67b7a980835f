#include <cstdio>
#include <filesystem>
#include <iterator>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <sched.h>
#include <sys/mount.h>

#include "runtime/checkpoint/folders.hpp"
#include "runtime/checkpoint/output_dir.hpp"
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

/// A small file system of its own, in a mount namespace that only this process sees.
class MountedDir {
 public:
  explicit MountedDir(const char* options) {
    static const bool has_namespace =
        ::unshare(CLONE_NEWNS) == 0 &&
        ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
    is_mounted_ = has_namespace && ::mount("tmpfs", path().c_str(), "tmpfs", 0, options) == 0;
  }
  MountedDir(const MountedDir&) = delete;
  MountedDir& operator=(const MountedDir&) = delete;
  ~MountedDir() {
    if (is_mounted_) ::umount2(path().c_str(), MNT_DETACH);
  }

  bool is_mounted() const { return is_mounted_; }
  std::string path() const { return dir_.path().string(); }
  void make_read_only() const {
    ASSERT_EQ(::mount("none", path().c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr), 0);
  }

 private:
  TempDir dir_;
  bool is_mounted_ = false;
};

constexpr const char* kNeedsRoot = "mounting a file system needs root";

TEST(CheckOutputDir, MakesTheFolderAndLeavesItEmptyButForCheckpoints) {
  const TempDir dir;

  check_output_dir(dir.path("a/b"), 1000);

  EXPECT_TRUE(fs::is_directory(dir.path("a/b/checkpoints")));
  EXPECT_EQ(std::distance(fs::directory_iterator(dir.path("a/b")), {}), 1);
}

TEST(CheckOutputDir, RefusesAPathBelowAFile) {
  const TempDir dir;
  dir.write("file", "x");

  const std::string text =
      error_text(ErrorCode::config, [&] { check_output_dir(dir.path("file/out")); });

  EXPECT_THAT(text, AllOf(HasSubstr(dir.path("file/out")), HasSubstr("Not a directory")));
}

TEST(CheckOutputDir, RefusesAnEmptyName) {
  EXPECT_THAT(error_text(ErrorCode::config, [] { check_output_dir(""); }),
              HasSubstr("it is empty"));
}

TEST(CheckOutputDir, RefusesARunThatWillNotFit) {
  const TempDir dir;

  const std::string text =
      error_text(ErrorCode::config, [&] { check_output_dir(dir.path("out"), INT64_MAX); });

  EXPECT_THAT(text, AllOf(HasSubstr("9223372036854775807 bytes"), HasSubstr("are free")));
}

TEST(CheckOutputDir, RefusesAReadOnlyFileSystem) {
  const MountedDir dir("size=1m");
  if (!dir.is_mounted()) GTEST_SKIP() << kNeedsRoot;
  check_output_dir(dir.path() + "/there");
  dir.make_read_only();

  for (const char* name : {"/there", "/new"}) {
    const std::string text =
        error_text(ErrorCode::config, [&] { check_output_dir(dir.path() + name); });

    EXPECT_THAT(text, AllOf(HasSubstr(dir.path() + name), HasSubstr("Read-only file system")));
  }
}

/// Writes pages to a file until the file system has none left.
void fill_up(const std::string& folder) {
  const std::string page(4096, 'x');
  std::FILE* file = std::fopen((folder + "/filler").c_str(), "wb");
  ASSERT_NE(file, nullptr);
  std::setvbuf(file, nullptr, _IONBF, 0);
  while (std::fwrite(page.data(), 1, page.size(), file) == page.size()) {
  }
  std::fclose(file);
}

TEST(CheckOutputDir, RefusesAFullFileSystemAndLeavesNoFile) {
  const MountedDir dir("size=64k");
  if (!dir.is_mounted()) GTEST_SKIP() << kNeedsRoot;
  check_output_dir(dir.path());
  fill_up(dir.path());

  const std::string text = error_text(ErrorCode::config, [&] { check_output_dir(dir.path()); });

  EXPECT_THAT(text, HasSubstr("No space left on device"));
  EXPECT_FALSE(fs::exists(dir.path() + "/.write-test"));
}

TEST(CheckpointWriter, NamesPathAndBytesWhenTheDiskIsFullAndKeepsTheOldOne) {
  const MountedDir dir("size=1m");
  if (!dir.is_mounted()) GTEST_SKIP() << kNeedsRoot;
  write_checkpoint(dir.path(), 1, 1);
  const std::vector<float> large(1 << 20, 1.0F);
  const std::vector<Chunk> chunks = {{"large",
                                      "param",
                                      Dtype::f32,
                                      {1 << 20},
                                      0,
                                      1 << 20,
                                      reinterpret_cast<const std::byte*>(large.data())}};

  const std::string text =
      error_text(ErrorCode::io, [&] { CheckpointWriter(dir.path(), 2, 0, 1).write_shard(chunks); });

  EXPECT_THAT(text, AllOf(HasSubstr("shard-00000.safetensors"), HasSubstr("bytes"),
                          HasSubstr("No space left on device")));
  EXPECT_THAT(complete_steps(dir.path()), ElementsAre(1));
  EXPECT_FALSE(fs::exists(temporary_step_folder(dir.path(), 2)));
  write_checkpoint(dir.path(), 3, 1);  // the space is free again
  EXPECT_THAT(complete_steps(dir.path()), ElementsAre(1, 3));
}

TEST(CheckpointWriter, NamesTheFolderOfAReadOnlyFileSystem) {
  const MountedDir dir("size=1m");
  if (!dir.is_mounted()) GTEST_SKIP() << kNeedsRoot;
  write_checkpoint(dir.path(), 1, 1);
  dir.make_read_only();

  const std::string text =
      error_text(ErrorCode::io, [&] { CheckpointWriter(dir.path(), 2, 0, 1); });

  EXPECT_THAT(text, AllOf(HasSubstr(".step-2.tmp"), HasSubstr("Read-only file system")));
  EXPECT_THAT(complete_steps(dir.path()), ElementsAre(1));
}

}  // namespace
}  // namespace muster::runtime
