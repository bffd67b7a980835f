#include "runtime/checkpoint/output_dir.hpp"

#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "kernels/base/error.hpp"
#include "runtime/checkpoint/file_io.hpp"
#include "runtime/checkpoint/folders.hpp"

namespace muster::runtime {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const std::string& output_dir, const std::string& why) {
  throw Error(ErrorCode::config,
              fmt::format("job.output_dir = \"{}\" cannot be used: {}", output_dir, why));
}

void try_to_write(const std::string& output_dir) {
  const fs::path probe = fs::path(output_dir) / ".write-test";
  try {
    write_file(probe.string(), "test\n");
  } catch (const Error& error) {
    std::error_code ignored;
    fs::remove(probe, ignored);
    refuse(output_dir, error.what());
  }
  remove_tree(probe);
}

}  // namespace

void check_output_dir(const std::string& output_dir, std::int64_t needed_bytes) {
  if (output_dir.empty()) refuse(output_dir, "it is empty");
  std::error_code error;
  fs::create_directories(checkpoints_folder(output_dir), error);
  if (error) {
    refuse(output_dir, fmt::format("{} cannot be made: {}", checkpoints_folder(output_dir).string(),
                                   error.message()));
  }
  try_to_write(output_dir);
  const fs::space_info space = fs::space(output_dir, error);
  if (error) refuse(output_dir, fmt::format("its free space is unknown: {}", error.message()));
  if (space.available < static_cast<std::uintmax_t>(needed_bytes)) {
    refuse(output_dir, fmt::format("the run will write about {} bytes, {} are free; lower "
                                   "checkpoint.keep_latest_k or choose another folder",
                                   needed_bytes, space.available));
  }
}

}  // namespace muster::runtime
