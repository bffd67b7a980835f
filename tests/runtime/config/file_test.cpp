#include "runtime/config/file.hpp"

#include <string>

#include <gmock/gmock.h>

#include "tests/support/error_text.hpp"
#include "tests/support/temp_dir.hpp"

namespace muster::runtime {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(ReadFile, GivesAllBytesUpToTheLimit) {
  const TempDir dir;
  const std::string bytes("a\0b\n", 4);
  const std::string path = dir.write("x", bytes);

  EXPECT_EQ(read_file(path, 4), bytes);
}

TEST(ReadFile, RefusesOneByteMoreThanTheLimit) {
  const TempDir dir;
  const std::string path = dir.write("x", "12345");

  const std::string text = error_text(ErrorCode::config, [&] { read_file(path, 4); });

  EXPECT_THAT(text, AllOf(HasSubstr(path), HasSubstr("5 bytes"), HasSubstr("limit of 4 bytes")));
}

TEST(ReadFile, NamesTheReasonForAMissingFileAndAFolder) {
  const TempDir dir;

  const std::string missing =
      error_text(ErrorCode::config, [&] { read_file(dir.path("none"), 4); });
  const std::string folder = error_text(ErrorCode::config, [&] { read_file(dir.path(""), 4); });

  EXPECT_THAT(missing, AllOf(HasSubstr(dir.path("none")), HasSubstr("No such file")));
  EXPECT_THAT(folder, HasSubstr("Is a directory"));
}

TEST(ReadFile, BoundsAFileWithoutASize) {
  const std::string text = error_text(ErrorCode::config, [] { read_file("/dev/zero", 1 << 20); });

  EXPECT_THAT(text, HasSubstr("more than the limit of 1048576 bytes"));
}

}  // namespace
}  // namespace muster::runtime
