#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/base/dtype.hpp"
#include "runtime/checkpoint/safetensors.hpp"

namespace muster::runtime {

/// The weights of a Hugging Face folder: model.safetensors, or the files that
/// model.safetensors.index.json lists. Only headers are read at first; tensors are read by offset,
/// so that every rank takes just what it needs. Any thread may read.
class HfWeights {
 public:
  /// Error(config): neither file is there; the index is malformed, names a file outside the folder
  /// or a tensor that its file lacks; a safetensors file is damaged.
  explicit HfWeights(const std::string& folder);

  /// All tensors but tables of rotary frequencies (…rotary_emb.inv_freq), which old files have and
  /// no model reads.
  std::vector<std::string> names() const;
  bool has(std::string_view name) const noexcept { return tensors_.contains(name); }

  /// Error(config) names the folder, the tensor that is missing and the nearest that is there; also
  /// a dtype that muster does not compute with.
  const std::vector<std::int64_t>& shape(std::string_view name) const;
  Dtype dtype(std::string_view name) const;

  /// Stores elements [begin, begin + count) of the flat tensor as `to` at `out`; f32, f16 and bf16
  /// convert into each other. A range outside the tensor is Error(invalid_argument).
  void read(std::string_view name, std::int64_t begin, std::int64_t count, Dtype to,
            void* out) const;

 private:
  struct Place {
    const SafetensorsFile* file;
    const TensorInfo* info;
  };

  void add_file(const std::string& path);
  void read_index(const std::string& path);
  const Place& find(std::string_view name) const;

  std::string folder_;
  std::vector<std::unique_ptr<SafetensorsFile>> files_;
  std::map<std::string, Place, std::less<>> tensors_;
};

}  // namespace muster::runtime
