#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "collectives/transport/transport.hpp"
#include "kernels/base/deadline.hpp"
#include "kernels/base/tensor_view.hpp"
#include "kernels/device/device.hpp"

namespace muster::collectives::algorithms {

/// A rank or another number, known not to be negative, as the place in an array.
constexpr std::size_t index(std::int64_t number) noexcept {
  return static_cast<std::size_t>(number);
}

/// Elements [begin, begin + count) of a vector.
struct Share {
  std::int64_t begin = 0;
  std::int64_t count = 0;
};

/// A share for each rank.
using Shares = std::span<const Share>;

/// Working memory of one lane. It grows at the first calls and is kept, so that later calls of the
/// same sizes allocate nothing. One thread at a time; contents last until the next call.
class Scratch {
 public:
  /// At least `bytes`, aligned to 64: the whole of it, so an algorithm asks once.
  std::span<std::byte> reserve(std::size_t bytes);

  /// [ranks], for kernels::reduce.
  std::span<ConstTensorView> sources(int ranks);
  std::span<Transport::Ticket> tickets(std::size_t count);
  std::span<Share> shares(int ranks);

 private:
  static constexpr std::size_t kAlignment = 64;
  struct alignas(kAlignment) Line {
    std::byte bytes[kAlignment];
  };

  std::vector<Line> lines_;
  std::vector<ConstTensorView> sources_;
  std::vector<Transport::Ticket> tickets_;
  std::vector<Share> shares_;
};

/// What an algorithm works with: the messages, the arithmetic and the memory of one lane.
struct Lane {
  Transport& transport;
  kernels::Device& device;
  Scratch& scratch;
  /// Large messages move in pieces of so many bytes, so that one is combined while others travel.
  std::size_t piece_bytes = kPieceBytes;
  Deadline deadline = Deadline::never();  // of the call
  /// Messages leave the host: they are long on their way, so that many must be at once.
  bool crosses_hosts = false;
  std::uint64_t led = 0;  // calls so far in which a rank may go on before the others have come

  static constexpr std::size_t kPieceBytes = 256 << 10;

  int rank() const noexcept { return transport.rank(); }
  int size() const noexcept { return transport.size(); }
  /// The rank `distance` further round the ring, which may be negative down to -size().
  int rank_at(int distance) const noexcept { return (rank() + distance + size()) % size(); }
};

/// Cuts `count` elements into shares that differ by one element at most, the longer ones first.
Shares even_shares(Lane& lane, std::int64_t count);
/// Shares of `counts` elements, one after the other.
Shares shares_of(Lane& lane, std::span<const std::int64_t> counts);
/// Everything for every rank.
Shares same_shares(Lane& lane, std::int64_t count);
/// Everything for `root`.
Shares root_share(Lane& lane, std::int64_t count, int root);

/// The elements of `share` in a vector whose first element is number `first` of all.
template <typename View>
View view_of(const View& vector, Share share, std::int64_t first = 0) {
  if (share.count == 0) return {vector.data, vector.dtype, 1, 0};
  return vector.cols_from(share.begin - first, share.count);
}
/// Part `index` of `share` in parts of `length` elements; empty beyond its end.
Share piece_of(Share share, std::int64_t length, std::int64_t index) noexcept;

inline std::span<const std::byte> bytes_of(ConstTensorView view) {
  return {view.data, view.bytes()};
}
inline std::span<std::byte> bytes_of(TensorView view) {
  return {view.data, view.bytes()};
}

/// Copies unless both are the same memory, past the caches what exceeds them.
void copy(kernels::Device& device, TensorView to, ConstTensorView from);

/// How many bytes a part of `bytes` takes in scratch memory if the next is to be aligned.
constexpr std::size_t aligned(std::size_t bytes) {
  return (bytes + 63) / 64 * 64;
}

}  // namespace muster::collectives::algorithms
