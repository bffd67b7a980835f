#pragma once

#include <cstddef>

#include "collectives/net/fd.hpp"
#include "collectives/shm/layout.hpp"

namespace muster::collectives::shm {

/// The segments of all ranks of a group, one after the other in this process's address space, so
/// that a place in any of them is plain arithmetic. They never move.
///
/// First the address space is reserved, then each rank's file is mapped into its place. Move-only.
class Segments {
 public:
  Segments() = default;
  Segments(Segments&& other) noexcept;
  Segments& operator=(Segments&& other) noexcept;
  ~Segments();

  /// Address space for `ranks` segments of up to `limit` bytes: halved until the system grants it.
  /// Error(out_of_memory) when not even the smallest useful segment fits.
  static Segments reserve(int ranks, std::size_t limit);
  /// Segments of `bytes` each that lie at `base` already and belong to somebody else.
  static Segments over(std::byte* base, std::size_t bytes) noexcept;

  /// Maps `file`, which has bytes() bytes at least, as the segment of `rank`.
  void map(int rank, const Fd& file);
  /// Makes every segment `bytes` long; no more than bytes(). Before the first map().
  void shrink(std::size_t bytes) noexcept { bytes_ = bytes; }

  /// Bytes of each segment.
  std::size_t bytes() const noexcept { return bytes_; }
  std::byte* base(int rank) const noexcept {
    return base_ + static_cast<std::size_t>(rank) * stride_;
  }
  ControlBlock& control(int rank) const noexcept {
    return *reinterpret_cast<ControlBlock*>(base(rank));
  }

 private:
  std::byte* base_ = nullptr;
  std::size_t stride_ = 0;
  std::size_t bytes_ = 0;
  std::byte* reserved_ = nullptr;  // what to unmap
  std::size_t reserved_bytes_ = 0;
};

/// A sparse, anonymous file of `bytes`, gone with its last descriptor and mapping.
Fd create_segment_file(std::size_t bytes);

}  // namespace muster::collectives::shm
