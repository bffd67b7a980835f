#include "runtime/checkpoint/folders.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

#include "kernels/base/error.hpp"
#include "runtime/checkpoint/file_io.hpp"

namespace muster::runtime {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kStepPrefix = "step-";
constexpr std::string_view kTemporaryPrefix = ".step-";
constexpr std::size_t kHashDigits = 16;

/// N of "step-N"; nothing for other names, also for "step-007", which no writer makes.
std::optional<std::int64_t> parse_step(std::string_view name) {
  if (!name.starts_with(kStepPrefix)) return std::nullopt;
  name.remove_prefix(kStepPrefix.size());
  std::int64_t step = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), step);
  const bool is_canonical = error == std::errc{} && end == name.data() + name.size() &&
                            std::to_string(step) == name && step >= 0;
  return is_canonical ? std::optional(step) : std::nullopt;
}

}  // namespace

fs::path checkpoints_folder(const std::string& output_dir) {
  return fs::path(output_dir) / "checkpoints";
}

fs::path step_folder(const std::string& output_dir, std::int64_t step) {
  return checkpoints_folder(output_dir) / fmt::format("{}{}", kStepPrefix, step);
}

fs::path temporary_step_folder(const std::string& output_dir, std::int64_t step) {
  return checkpoints_folder(output_dir) / fmt::format("{}{}.tmp", kTemporaryPrefix, step);
}

std::string shard_file(int rank) {
  return fmt::format("shard-{:05}.safetensors", rank);
}

std::string shard_index_file(int rank) {
  return fmt::format("shard-{:05}.json", rank);
}

std::string to_text(const DoneMark& mark) {
  return fmt::format("{} {}\n", mark.index_hash, mark.trainer_hash);
}

std::optional<DoneMark> read_done_mark(const fs::path& folder) {
  std::ifstream file(folder / kDoneFile);
  std::string line;
  if (!std::getline(file, line) || file.eof()) return std::nullopt;  // the newline is its end
  if (line.size() != 2 * kHashDigits + 1 || line[kHashDigits] != ' ') return std::nullopt;
  return DoneMark{line.substr(0, kHashDigits), line.substr(kHashDigits + 1)};
}

std::vector<std::int64_t> complete_steps(const std::string& output_dir) {
  std::vector<std::int64_t> steps;
  for (const fs::path& entry : list_folder(checkpoints_folder(output_dir))) {
    const auto step = parse_step(entry.filename().string());
    if (step && read_done_mark(entry)) steps.push_back(*step);
  }
  std::ranges::sort(steps);
  return steps;
}

void prune(const std::string& output_dir, std::int64_t keep_latest_k) {
  MUSTER_ASSERT(keep_latest_k >= 1);
  const std::vector<std::int64_t> steps = complete_steps(output_dir);
  const std::int64_t surplus = std::ssize(steps) - keep_latest_k;
  for (std::int64_t i = 0; i < surplus; ++i) {
    remove_checkpoint(step_folder(output_dir, steps[static_cast<std::size_t>(i)]));
  }
}

void remove_leftovers(const std::string& output_dir) {
  for (const fs::path& entry : list_folder(checkpoints_folder(output_dir))) {
    const std::string name = entry.filename().string();
    const bool is_temporary = name.starts_with(kTemporaryPrefix) && name.ends_with(".tmp");
    const bool is_incomplete = parse_step(name) && !read_done_mark(entry);
    if (is_temporary || is_incomplete) remove_tree(entry);
  }
}

void remove_checkpoint(const fs::path& folder) {
  remove_tree(folder / kDoneFile);
  remove_tree(folder);
}

}  // namespace muster::runtime
