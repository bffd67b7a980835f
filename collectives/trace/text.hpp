#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace muster::collectives::trace {

/// A text clipped to whole words and filled up with zeros. It is put together a word at a time, so
/// that it can be copied on at once: bytes just stored do not reach a load of the whole word fast.
template <std::size_t Count>
class Text {
 public:
  Text() = default;
  explicit Text(std::string_view text) noexcept {
    const std::size_t size = std::min(text.size(), sizeof(words_));
    for (std::size_t i = 0; i < size / 8; ++i) std::memcpy(&words_[i], text.data() + 8 * i, 8);
    std::uint64_t rest = 0;
    for (std::size_t i = size; i > size / 8 * 8; --i) {
      rest = rest << 8 | static_cast<unsigned char>(text[i - 1]);
    }
    if (size % 8 != 0) words_[size / 8] = rest;
  }

  std::string_view view() const noexcept {
    const char* const bytes = reinterpret_cast<const char*>(words_.data());
    return {bytes, ::strnlen(bytes, sizeof(words_))};
  }

 private:
  std::array<std::uint64_t, Count> words_{};
};
static_assert(std::endian::native == std::endian::little);

}  // namespace muster::collectives::trace
