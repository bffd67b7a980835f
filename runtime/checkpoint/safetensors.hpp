#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/base/dtype.hpp"
#include "runtime/checkpoint/file_io.hpp"

namespace muster::runtime {

/// A tensor of a safetensors file.
struct TensorInfo {
  std::string name;
  std::string dtype_name;      // as written in the file: "BF16"
  std::optional<Dtype> dtype;  // none for types muster does not compute with
  std::vector<std::int64_t> shape;
  std::int64_t count = 0;   // product of shape
  std::int64_t offset = 0;  // of its first byte in the file
  std::int64_t bytes = 0;
};

struct SafetensorsHeader {
  std::vector<TensorInfo> tensors;  // in the order of their bytes
  std::map<std::string, std::string> metadata;
};

/// The name of a dtype in safetensors files: "BF16".
std::string_view safetensors_name(Dtype dtype) noexcept;

/// Reads and checks the header of `file`: length within the file and within 100,000,000 bytes,
/// strict JSON, known dtypes, shapes that fit their byte ranges, ranges that follow one another
/// without overlap or hole and end with the file, no name twice. Each fault is a different
/// Error(config) that names file, offset or tensor, and expected and actual values. Memory taken is
/// bounded by the size of the file.
SafetensorsHeader read_safetensors_header(const InputFile& file);

/// A safetensors file opened for reading by name and offset. Any thread may read.
class SafetensorsFile {
 public:
  /// Errors are those of InputFile and read_safetensors_header().
  explicit SafetensorsFile(const std::string& path);

  const InputFile& file() const noexcept { return file_; }
  const std::vector<TensorInfo>& tensors() const noexcept { return header_.tensors; }
  const std::map<std::string, std::string>& metadata() const noexcept { return header_.metadata; }

  /// Null when there is no such tensor.
  const TensorInfo* find(std::string_view name) const noexcept;

 private:
  InputFile file_;
  SafetensorsHeader header_;
  std::map<std::string_view, const TensorInfo*> by_name_;
};

/// A tensor to write: `data` has the bytes of its shape and dtype.
struct TensorData {
  std::string name;
  Dtype dtype = Dtype::f32;
  std::vector<std::int64_t> shape;
  const std::byte* data = nullptr;
};

/// Writes a safetensors file and waits until it is on the disk: metadata {"format": "pt"}, which
/// readers of PyTorch files ask for; tensors by dtype size, largest first, then by name; data
/// aligned to 8 bytes. Errors are those of OutputFile; a name twice is Error(invalid_argument).
void write_safetensors(const std::string& path, std::vector<TensorData> tensors);

}  // namespace muster::runtime
