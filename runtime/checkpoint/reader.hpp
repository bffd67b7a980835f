#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/checkpoint/index.hpp"
#include "runtime/checkpoint/safetensors.hpp"
#include "runtime/checkpoint/trainer_state.hpp"

namespace muster::runtime {

/// Reads a complete checkpoint by logical tensor and range, however many ranks wrote it. Nothing is
/// used before its checksum was seen to match. One thread at a time.
class CheckpointReader {
 public:
  /// The step of the newest complete checkpoint below `output_dir`, by number of step; nothing when
  /// there is none. Incomplete ones are passed over.
  static std::optional<std::int64_t> newest(const std::string& output_dir);

  /// Opens what a person may name: an output folder (its newest checkpoint), or a step-N folder.
  static CheckpointReader open(const std::string& path);

  /// Error(config): there is no complete checkpoint of that step (those that are there are listed);
  /// a file is missing, damaged or of another format.
  CheckpointReader(const std::string& output_dir, std::int64_t step);

  const std::filesystem::path& folder() const noexcept { return folder_; }
  const TrainerState& state() const noexcept { return state_; }

  /// "state/name" of all that is in it.
  std::vector<std::string> keys() const;
  bool has(std::string_view name, std::string_view state) const;
  /// Error(config) names the tensor that is missing and the nearest.
  const std::vector<std::int64_t>& shape(std::string_view name, std::string_view state) const;

  /// Stores elements [begin, begin + count) of a tensor's state as `to` at `out`; f32, f16 and bf16
  /// convert into each other. Every chunk is checked whole when it is first touched: Error(config)
  /// names tensor, file and both checksums. A range outside the tensor is Error(invalid_argument).
  void read(std::string_view name, std::string_view state, std::int64_t begin, std::int64_t count,
            Dtype to, void* out) const;

 private:
  explicit CheckpointReader(std::filesystem::path folder);

  void open_shards();
  const Index::value_type& find(std::string_view name, std::string_view state) const;
  void verify(const std::string& key, const IndexChunk& chunk) const;
  const TensorInfo& info_of(const std::string& key, const IndexEntry& entry,
                            const IndexChunk& chunk) const;

  std::filesystem::path folder_;
  TrainerState state_;
  Index index_;
  std::map<std::string, std::unique_ptr<SafetensorsFile>> shards_;
  mutable std::set<const IndexChunk*> verified_;
};

}  // namespace muster::runtime
