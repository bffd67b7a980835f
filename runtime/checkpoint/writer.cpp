#include "runtime/checkpoint/writer.hpp"

#include <set>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "kernels/base/error.hpp"
#include "runtime/checkpoint/file_io.hpp"
#include "runtime/checkpoint/folders.hpp"
#include "runtime/checkpoint/hash.hpp"
#include "runtime/checkpoint/index.hpp"
#include "runtime/checkpoint/safetensors.hpp"
#include "runtime/config/file.hpp"

namespace muster::runtime {
namespace {

namespace fs = std::filesystem;

void make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) {
    throw Error(ErrorCode::io,
                fmt::format("cannot make the folder {}: {}", folder.string(), error.message()));
  }
}

std::span<const std::byte> bytes_of(const Chunk& chunk) {
  return {chunk.data, static_cast<std::size_t>(chunk.count) * size_of(chunk.dtype)};
}

/// Removes files that a longer run of more ranks left in a folder that is used again.
void remove_all_but(const fs::path& folder, const std::set<std::string>& names) {
  for (const fs::path& entry : list_folder(folder)) {
    if (!names.contains(entry.filename().string())) remove_tree(entry);
  }
}

}  // namespace

CheckpointWriter::CheckpointWriter(const std::string& output_dir, std::int64_t step, int rank,
                                   int world)
    : temporary_(temporary_step_folder(output_dir, step)),
      folder_(step_folder(output_dir, step)),
      rank_(rank),
      world_(world) {
  make_folder(temporary_);
}

CheckpointWriter::~CheckpointWriter() {
  const bool is_left = rank_ == 0 ? !is_finished_ : !is_shard_written_;
  if (is_left) abandon();
}

void CheckpointWriter::write_shard(std::span<const Chunk> chunks) {
  const std::string file = shard_file(rank_);
  Index index;
  std::vector<TensorData> tensors;
  for (const Chunk& chunk : chunks) {
    const std::string key = entry_key(chunk.name, chunk.state);
    Index part;
    part[key] = {.dtype = chunk.dtype,
                 .shape = chunk.shape,
                 .chunks = {{file, chunk.begin, chunk.count, hash_of(bytes_of(chunk))}}};
    merge(index, part);
    tensors.push_back({.name = chunk_key(key, chunk.begin),
                       .dtype = chunk.dtype,
                       .shape = {chunk.count},
                       .data = chunk.data});
  }
  write_safetensors((temporary_ / file).string(), std::move(tensors));
  write_file((temporary_ / shard_index_file(rank_)).string(), to_json(index));
  is_shard_written_ = true;
}

std::string CheckpointWriter::write_index() {
  Index index;
  std::set<std::string> files = {kIndexFile, kTrainerFile};
  for (int rank = 0; rank < world_; ++rank) {
    const std::string part = (temporary_ / shard_index_file(rank)).string();
    merge(index, with_context([&] { return fmt::format("merging the shard of rank {}", rank); },
                              [&] { return parse_index(read_file(part, kMaxIndexBytes), part); }));
    files.insert(shard_file(rank));
  }
  check_cover(index);
  const std::string text = to_json(index);
  write_file((temporary_ / kIndexFile).string(), text);
  remove_all_but(temporary_, files);
  return hash_of(text);
}

void CheckpointWriter::publish() {
  sync_folder(temporary_);
  remove_checkpoint(folder_);
  std::error_code error;
  fs::rename(temporary_, folder_, error);
  if (error) {
    throw Error(ErrorCode::io, fmt::format("cannot rename {} to {}: {}", temporary_.string(),
                                           folder_.string(), error.message()));
  }
  is_published_ = true;
  sync_folder(folder_.parent_path());
}

void CheckpointWriter::finish(const TrainerState& state) {
  MUSTER_ASSERT(rank_ == 0 && is_shard_written_ && !is_finished_);
  const std::string trainer = to_json(state);
  write_file((temporary_ / kTrainerFile).string(), trainer);
  const DoneMark mark{.index_hash = write_index(), .trainer_hash = hash_of(trainer)};
  publish();
  write_file((folder_ / kDoneFile).string(), to_text(mark));
  sync_folder(folder_);
  is_finished_ = true;
}

void CheckpointWriter::abandon() noexcept {
  std::error_code ignored;  // what cannot be removed has no mark and is ignored by readers
  if (rank_ == 0) {
    if (is_published_ && !is_finished_) fs::remove_all(folder_, ignored);
    fs::remove_all(temporary_, ignored);
  } else {
    fs::remove(temporary_ / shard_file(rank_), ignored);
    fs::remove(temporary_ / shard_index_file(rank_), ignored);
    fs::remove(temporary_, ignored);  // only when it is empty
  }
}

}  // namespace muster::runtime
