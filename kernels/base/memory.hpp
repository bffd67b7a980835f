#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>

namespace muster {

/// An owned, 256-byte aligned, zero-filled range of memory from a MemorySource. Move-only.
class Memory {
 public:
  using Release = std::function<void(std::byte*)>;

  Memory() = default;
  Memory(std::byte* data, std::size_t bytes, Release release)
      : data_(data, std::move(release)), bytes_(bytes) {}

  std::byte* data() const noexcept { return data_.get(); }
  std::size_t bytes() const noexcept { return bytes_; }

  /// Makes every page present now, on the node of the calling thread, instead of at first use.
  void touch() const noexcept {
    constexpr std::size_t kPage = 4096;
    for (std::size_t i = 0; i < bytes_; i += kPage) {
      volatile std::byte* const byte = data_.get() + i;
      *byte = *byte;
    }
  }

 private:
  std::unique_ptr<std::byte, Release> data_{nullptr, [](std::byte*) {}};
  std::size_t bytes_ = 0;
};

/// Where arenas, units and message slots take their memory from: a device, or a communicator whose
/// memory its peers can reach (symmetric memory; there, allocating is collective: every rank of the
/// group makes the same calls with the same sizes in the same order).
///
/// Memory outlives neither its source nor the process. Errors: out_of_memory names `what`, the
/// bytes asked for and the limit. One thread at a time.
class MemorySource {
 public:
  MemorySource() = default;
  MemorySource(const MemorySource&) = delete;
  MemorySource& operator=(const MemorySource&) = delete;
  virtual ~MemorySource() = default;

  virtual Memory allocate(std::size_t bytes, std::string_view what) = 0;

  /// Bytes handed out and not yet released.
  virtual std::size_t allocated() const noexcept = 0;
};

}  // namespace muster
