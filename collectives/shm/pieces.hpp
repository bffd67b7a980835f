#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "collectives/copy.hpp"
#include "collectives/shm/lane.hpp"
#include "kernels/base/tensor_view.hpp"

namespace muster::collectives::shm {

/// Elements [begin, begin + count) of a vector.
struct Piece {
  std::int64_t begin = 0;
  std::int64_t count = 0;
};

/// The share of `rank` when `total` elements are dealt out in whole cache lines: the first ranks
/// get equal shares, the last what is left (perhaps nothing).
inline Piece slice_of(std::int64_t total, Dtype dtype, int rank, int size) noexcept {
  const auto line = static_cast<std::int64_t>(64 / size_of(dtype));
  const std::int64_t even = (total + size - 1) / size;
  const std::int64_t share = (even + line - 1) / line * line;
  const std::int64_t begin = std::min(total, share * rank);
  return {begin, std::min(share, total - begin)};
}

/// A vector of `total` elements cut into chunks of `length`, numbered as the lane counts chunks.
class Chunks {
 public:
  Chunks(Lane& lane, std::int64_t total, std::int64_t length)
      : total_(total),
        length_(length),
        count_(static_cast<std::uint64_t>((total + length - 1) / length)),
        first_(lane.take_chunks(count_)) {}

  std::uint64_t begin() const noexcept { return first_; }
  std::uint64_t end() const noexcept { return first_ + count_; }
  Piece piece(std::uint64_t chunk) const noexcept {
    const std::int64_t begin = static_cast<std::int64_t>(chunk - first_) * length_;
    return {begin, std::min(length_, total_ - begin)};
  }

 private:
  std::int64_t total_;
  std::int64_t length_;
  std::uint64_t count_;
  std::uint64_t first_;
};

/// Where a rank's views begin, as it tells the others: an offset in its segment, or kPrivate and an
/// address of its own. A view without elements is nowhere and everywhere: it counts as symmetric,
/// and nobody reads it.
struct Places {
  static constexpr std::uint64_t kPrivate = std::uint64_t{1} << 63;

  std::uint64_t in = kPrivate;
  std::uint64_t out = kPrivate;

  static bool is_private(std::uint64_t place) noexcept { return (place & kPrivate) != 0; }
};

std::uint64_t place_of(const Group& group, ConstTensorView view) noexcept;
Places places_of(const Group& group, const Call& call) noexcept;

/// Tells the others where this rank's views are, and meets them.
void meet_with_places(Lane& lane, const Call& call);
/// After that: do all views lie in symmetric memory, and where does that of `rank` begin?
bool all_inputs_are_symmetric(const Lane& lane) noexcept;
bool all_outputs_are_symmetric(const Lane& lane) noexcept;
const std::byte* input_of(const Lane& lane, int rank) noexcept;
std::byte* output_of(const Lane& lane, int rank) noexcept;

/// Can the others read and write a view at `place`?
inline bool is_reachable(const Lane& lane, std::uint64_t place) noexcept {
  return !Places::is_private(place) || lane.group().reaches_private;
}

/// Bytes [begin, begin + size) of a view.
struct Range {
  std::size_t begin = 0;
  std::size_t size = 0;
};

/// Copies from, or to, a view of `rank` that begins at `place`: in a segment, or in private memory
/// where the group reaches it.
void read_place(Lane& lane, int rank, std::uint64_t place, Range range, std::byte* to,
                bool streaming);
void write_place(Lane& lane, int rank, std::uint64_t place, Range range, const std::byte* from,
                 bool streaming);

/// Up to here copying twice costs less than a second sync.
inline constexpr std::size_t kSmallBytes = kMaxShown;

/// Shows the others `bytes` at `data`, no more than kSmallBytes, and arrives.
void arrive_with_data(Lane& lane, const std::byte* data, std::size_t bytes);
/// The same, and meets them.
void meet_with_data(Lane& lane, const std::byte* data, std::size_t bytes);
/// After a meeting: what `rank` shows, when all show that many bytes.
const std::byte* data_of(const Lane& lane, int rank, std::size_t bytes) noexcept;

/// Element `index` of a vector that begins at `data`.
template <typename Byte>
Byte* element(Byte* data, Dtype dtype, std::int64_t index) noexcept {
  return data + index * static_cast<std::int64_t>(size_of(dtype));
}

inline std::size_t bytes_of(const Piece& piece, Dtype dtype) noexcept {
  return static_cast<std::size_t>(piece.count) * size_of(dtype);
}

/// collectives::copy() by the lane's device.
void copy(Lane& lane, std::byte* dst, const std::byte* src, std::size_t bytes, bool streaming);

}  // namespace muster::collectives::shm
