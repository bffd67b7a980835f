#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "runtime/checkpoint/chunk.hpp"
#include "runtime/checkpoint/trainer_state.hpp"

namespace muster::runtime {

/// Writes the checkpoint of one step, one writer per rank over one shared folder:
///
///     every rank    writer.write_shard(chunks)     then a barrier; if any rank failed, all abandon
///     rank 0        writer.finish(state)           then a barrier
///
/// All goes into a temporary folder first. finish() renames it and writes the completion mark last,
/// after everything else is on the disk, so a crash at any moment leaves nothing that looks
/// complete.
///
/// Errors are Error(io) and name path, bytes and the reason: no space, read-only, …. One thread.
class CheckpointWriter {
 public:
  /// Makes the temporary folder if it is not there yet.
  CheckpointWriter(const std::string& output_dir, std::int64_t step, int rank, int world);
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;
  /// Abandons what was not finished: on rank 0 all, elsewhere a shard that failed.
  ~CheckpointWriter();

  /// Writes this rank's chunks and waits until they are on the disk. Once; no chunks are fine.
  void write_shard(std::span<const Chunk> chunks);

  /// On rank 0, when every rank's write_shard has returned: merges the index, checks that the
  /// chunks of all ranks cover every tensor once, and completes the checkpoint. One of the same
  /// step that is there already is replaced.
  void finish(const TrainerState& state);

  /// Removes what this rank has written, on rank 0 all that any rank has.
  void abandon() noexcept;

  /// Where the complete checkpoint lies after finish().
  const std::filesystem::path& folder() const noexcept { return folder_; }

 private:
  std::string write_index();
  void publish();

  std::filesystem::path temporary_;
  std::filesystem::path folder_;
  int rank_;
  int world_;
  bool is_shard_written_ = false;
  bool is_published_ = false;  // renamed, perhaps without its mark
  bool is_finished_ = false;
};

}  // namespace muster::runtime
