#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace muster::runtime {

/// The folders and files of checkpoints below an output folder:
///
///     output_dir/checkpoints/step-N/          shard-RRRRR.safetensors, index.json, trainer.json,
///                                             DONE, written last
///     output_dir/checkpoints/.step-N.tmp/     being written
std::filesystem::path checkpoints_folder(const std::string& output_dir);
std::filesystem::path step_folder(const std::string& output_dir, std::int64_t step);
std::filesystem::path temporary_step_folder(const std::string& output_dir, std::int64_t step);

inline constexpr const char* kIndexFile = "index.json";
inline constexpr const char* kTrainerFile = "trainer.json";
inline constexpr const char* kDoneFile = "DONE";

/// Rank `rank`'s tensors, and its part of the index until rank 0 has merged all.
std::string shard_file(int rank);
std::string shard_index_file(int rank);

/// What DONE says: checksums of the two other files of the folder.
struct DoneMark {
  std::string index_hash;
  std::string trainer_hash;
};
std::string to_text(const DoneMark& mark);
/// The mark of a checkpoint's folder; nothing when it is not there or not whole: incomplete.
std::optional<DoneMark> read_done_mark(const std::filesystem::path& folder);

/// The steps of all complete checkpoints, ascending. Times of files play no part.
std::vector<std::int64_t> complete_steps(const std::string& output_dir);

/// Removes all complete checkpoints but the newest `keep_latest_k` (>= 1); the mark goes first, so
/// that one half removed looks incomplete. Error(io) names what cannot be removed.
void prune(const std::string& output_dir, std::int64_t keep_latest_k);

/// Removes what interrupted writers left: temporary folders and checkpoints without a whole mark.
/// For one process, while no other writes below `output_dir`.
void remove_leftovers(const std::string& output_dir);

/// Removes a checkpoint's folder, its mark first. Error(io) names what cannot be removed.
void remove_checkpoint(const std::filesystem::path& folder);

}  // namespace muster::runtime
