#include "runtime/checkpoint/safetensors.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <tuple>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "kernels/base/error.hpp"
#include "runtime/config/names.hpp"

namespace muster::runtime {
namespace {

constexpr std::size_t kDataAlignment = 8;

std::int64_t element_count(const std::vector<std::int64_t>& shape) {
  std::int64_t count = 1;
  for (const std::int64_t size : shape) count *= size;
  return count;
}

std::size_t bytes_of(const TensorData& tensor) {
  return static_cast<std::size_t>(element_count(tensor.shape)) * size_of(tensor.dtype);
}

/// The header of `tensors` in their order, padded with blanks so that the data is aligned.
std::string header_text(const std::vector<TensorData>& tensors) {
  std::string text = R"({"__metadata__":{"format":"pt"})";
  std::set<std::string_view> names;
  std::size_t at = 0;
  for (const TensorData& tensor : tensors) {
    if (!names.insert(tensor.name).second) {
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("tensor {} is to be written twice", quote(tensor.name)));
    }
    const std::size_t end = at + bytes_of(tensor);
    text += fmt::format(R"(,{}:{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})",
                        nlohmann::json(tensor.name).dump(), safetensors_name(tensor.dtype),
                        fmt::join(tensor.shape, ","), at, end);
    at = end;
  }
  text += '}';
  text.append((kDataAlignment - text.size() % kDataAlignment) % kDataAlignment, ' ');
  return text;
}

std::array<std::byte, 8> little_endian(std::uint64_t value) {
  std::array<std::byte, 8> bytes{};
  for (std::byte& byte : bytes) {
    byte = static_cast<std::byte>(value & 0xFF);
    value >>= 8;
  }
  return bytes;
}

}  // namespace

SafetensorsFile::SafetensorsFile(const std::string& path)
    : file_(path), header_(read_safetensors_header(file_)) {
  for (const TensorInfo& tensor : header_.tensors) by_name_.emplace(tensor.name, &tensor);
}

const TensorInfo* SafetensorsFile::find(std::string_view name) const noexcept {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : found->second;
}

void write_safetensors(const std::string& path, std::vector<TensorData> tensors) {
  std::ranges::sort(tensors, [](const TensorData& a, const TensorData& b) {
    return std::make_tuple(size_of(b.dtype), std::string_view(a.name)) <
           std::make_tuple(size_of(a.dtype), std::string_view(b.name));
  });
  const std::string header = header_text(tensors);
  OutputFile file(path);
  file.write(little_endian(header.size()));
  file.write(header);
  for (const TensorData& tensor : tensors) file.write({tensor.data, bytes_of(tensor)});
  file.sync();
}

}  // namespace muster::runtime
