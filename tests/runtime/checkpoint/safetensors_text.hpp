#pragma once

#include <cstdint>
#include <string>

#include <fmt/format.h>

namespace muster::runtime {

/// A file with this header length, header text and data, right or wrong.
inline std::string raw_safetensors(std::uint64_t length, const std::string& header,
                                   const std::string& data) {
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes += static_cast<char>((length >> (8 * i)) & 0xFF);
  return bytes + header + data;
}

/// The same with the length of the header.
inline std::string safetensors(const std::string& header, const std::string& data) {
  return raw_safetensors(header.size(), header, data);
}

/// An entry of a header.
inline std::string entry(const std::string& name, const std::string& dtype,
                         const std::string& shape, const std::string& offsets) {
  return fmt::format(R"("{}":{{"dtype":"{}","shape":{},"data_offsets":{}}})", name, dtype, shape,
                     offsets);
}

}  // namespace muster::runtime
