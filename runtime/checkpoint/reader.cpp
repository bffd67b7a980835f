#include "runtime/checkpoint/reader.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "kernels/base/error.hpp"
#include "runtime/checkpoint/convert.hpp"
#include "runtime/checkpoint/folders.hpp"
#include "runtime/checkpoint/hash.hpp"
#include "runtime/config/file.hpp"
#include "runtime/config/names.hpp"

namespace muster::runtime {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const std::string& text) {
  throw Error(ErrorCode::config, text);
}

fs::path folder_of_step(const std::string& output_dir, std::int64_t step) {
  fs::path folder = step_folder(output_dir, step);
  if (read_done_mark(folder)) return folder;
  const std::vector<std::int64_t> steps = complete_steps(output_dir);
  refuse(fmt::format("there is no complete checkpoint {}; complete in {} are: {}", folder.string(),
                     output_dir,
                     steps.empty() ? "none" : fmt::format("{}", fmt::join(steps, ", "))));
}

std::string read_checked(const fs::path& file, const std::string& expected) {
  std::string text = read_file(file.string(), kMaxIndexBytes);
  if (const std::string actual = hash_of(text); actual != expected) {
    refuse(fmt::format("{} is damaged: its checksum is {}, {} says {}", file.string(), actual,
                       kDoneFile, expected));
  }
  return text;
}

}  // namespace

std::optional<std::int64_t> CheckpointReader::newest(const std::string& output_dir) {
  const std::vector<std::int64_t> steps = complete_steps(output_dir);
  return steps.empty() ? std::nullopt : std::optional(steps.back());
}

CheckpointReader CheckpointReader::open(const std::string& path) {
  if (read_done_mark(path)) return CheckpointReader(fs::path(path));
  const std::optional<std::int64_t> step = newest(path);
  if (!step) refuse(fmt::format("{} is no complete checkpoint and contains none", path));
  return {path, *step};
}

CheckpointReader::CheckpointReader(const std::string& output_dir, std::int64_t step)
    : CheckpointReader(folder_of_step(output_dir, step)) {}

CheckpointReader::CheckpointReader(fs::path folder) : folder_(std::move(folder)) {
  const std::optional<DoneMark> mark = read_done_mark(folder_);
  if (!mark) refuse(fmt::format("{} has lost its completion mark", folder_.string()));
  const fs::path trainer = folder_ / kTrainerFile;
  const fs::path index = folder_ / kIndexFile;
  state_ = parse_trainer_state(read_checked(trainer, mark->trainer_hash), trainer.string());
  index_ = parse_index(read_checked(index, mark->index_hash), index.string());
  with_context([&] { return fmt::format("checking {}", index.string()); },
               [&] { check_cover(index_); });
  open_shards();
}

void CheckpointReader::open_shards() {
  for (const auto& [key, entry] : index_) {
    for (const IndexChunk& chunk : entry.chunks) {
      auto& shard = shards_[chunk.file];
      if (shard == nullptr) {
        shard = std::make_unique<SafetensorsFile>((folder_ / chunk.file).string());
      }
      info_of(key, entry, chunk);
    }
  }
}

std::vector<std::string> CheckpointReader::keys() const {
  std::vector<std::string> all;
  for (const auto& [key, entry] : index_) all.push_back(key);
  return all;
}

bool CheckpointReader::has(std::string_view name, std::string_view state) const {
  return index_.contains(entry_key(name, state));
}

const Index::value_type& CheckpointReader::find(std::string_view name,
                                                std::string_view state) const {
  const std::string key = entry_key(name, state);
  const auto found = index_.find(key);
  if (found != index_.end()) return *found;
  const std::string near = nearest(key, keys());
  refuse(fmt::format("{} has no tensor {}{}", folder_.string(), quote(key),
                     near.empty() ? "" : fmt::format("; nearest: {}", quote(near))));
}

const std::vector<std::int64_t>& CheckpointReader::shape(std::string_view name,
                                                         std::string_view state) const {
  return find(name, state).second.shape;
}

const TensorInfo& CheckpointReader::info_of(const std::string& key, const IndexEntry& entry,
                                            const IndexChunk& chunk) const {
  const SafetensorsFile& shard = *shards_.at(chunk.file);
  const TensorInfo* info = shard.find(chunk_key(key, chunk.begin));
  const bool is_as_listed =
      info != nullptr && info->dtype == entry.dtype && info->count == chunk.count;
  if (!is_as_listed) {
    refuse(fmt::format("{} should hold {} with {} elements of {}, by {}, but does not",
                       shard.file().path(), quote(chunk_key(key, chunk.begin)), chunk.count,
                       to_string(entry.dtype), kIndexFile));
  }
  return *info;
}

void CheckpointReader::verify(const std::string& key, const IndexChunk& chunk) const {
  if (verified_.contains(&chunk)) return;
  constexpr std::int64_t kPieceBytes = 1 << 20;
  const SafetensorsFile& shard = *shards_.at(chunk.file);
  const TensorInfo& info = *shard.find(chunk_key(key, chunk.begin));
  std::vector<std::byte> piece(static_cast<std::size_t>(std::min(info.bytes, kPieceBytes)));
  Hash hash;
  for (std::int64_t at = 0; at < info.bytes; at += kPieceBytes) {
    const std::int64_t bytes = std::min(info.bytes - at, kPieceBytes);
    const auto part = std::span(piece).first(static_cast<std::size_t>(bytes));
    shard.file().read(info.offset + at, part);
    hash.add(part);
  }
  if (const std::string actual = hash.digits(); actual != chunk.hash) {
    refuse(
        fmt::format("{} is damaged: the checksum of {} at offset {} is {}, {} says {}; resume "
                    "from another step with checkpoint.resume",
                    shard.file().path(), quote(chunk_key(key, chunk.begin)), info.offset, actual,
                    kIndexFile, chunk.hash));
  }
  verified_.insert(&chunk);
}

void CheckpointReader::read(std::string_view name, std::string_view state, std::int64_t begin,
                            std::int64_t count, Dtype to, void* out) const {
  const auto& [key, entry] = find(name, state);
  const std::int64_t total = entry.count();
  if (begin < 0 || count < 0 || begin > total || count > total - begin) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("elements [{}, {} + {}) of tensor {}, which has {}", begin, begin,
                            count, quote(key), total));
  }
  for (const IndexChunk& chunk : entry.chunks) {
    const std::int64_t first = std::max(begin, chunk.begin);
    const std::int64_t last = std::min(begin + count, chunk.begin + chunk.count);
    if (first >= last) continue;
    verify(key, chunk);
    const TensorInfo& info = info_of(key, entry, chunk);
    auto* target =
        static_cast<std::byte*>(out) + (first - begin) * static_cast<std::int64_t>(size_of(to));
    read_as({&shards_.at(chunk.file)->file(), info.offset, entry.dtype, first - chunk.begin,
             last - first},
            to, target, "tensor " + quote(key));
  }
}

}  // namespace muster::runtime
