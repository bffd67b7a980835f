#include "collectives/shm/direct_reduction.hpp"

#include <algorithm>

#include "kernels/ops/reduce.hpp"

namespace muster::collectives::shm {
namespace {

std::size_t offset_of(const Piece& piece, Dtype dtype) noexcept {
  return static_cast<std::size_t>(piece.begin) * size_of(dtype);
}

}  // namespace

// The parts of all inputs, in rank order; those of the others copied to the lane's tiles.
std::span<const ConstTensorView> DirectReduction::read_tile(const Piece& tile) {
  const Dtype dtype = call_.in.dtype;
  for (int step = 0; step < lane_.size(); ++step) {
    const int rank = (lane_.rank() + step) % lane_.size();
    const std::byte* data = element(call_.in.data, dtype, tile.begin);
    if (rank != lane_.rank()) {
      std::byte* const copied = lane_.tile(rank);
      read_place(lane_, rank, lane_.payload_as<Places>(rank).in,
                 {offset_of(tile, dtype), bytes_of(tile, dtype)}, copied, false);
      data = copied;
    }
    lane_.sources()[static_cast<std::size_t>(rank)] = {data, dtype, 1, tile.count};
  }
  return lane_.sources();
}

// take(tile) says where the result of a tile belongs; what is told afterwards, that it is there.
template <typename Take>
void DirectReduction::reduce_part(const Piece& part, Take&& take) {
  const auto length = static_cast<std::int64_t>(lane_.tile_bytes() / size_of(call_.in.dtype));
  for (std::int64_t done = 0; done < part.count; done += length) {
    const Piece tile = {part.begin + done, std::min(length, part.count - done)};
    const std::span<const ConstTensorView> sources = read_tile(tile);
    take(tile, [&](std::byte* to) {
      const TensorView destination(to, call_.in.dtype, 1, tile.count);
      kernels::reduce(lane_.device(),
                      {.destinations = {&destination, 1}, .sources = sources, .op = call_.op});
    });
  }
}

void DirectReduction::reduce_scatter(const Piece& share) {
  reduce_part(share, [&](const Piece& tile, const auto& reduce_to) {
    reduce_to(element(call_.out.data, call_.out.dtype, tile.begin - share.begin));
  });
  lane_.leave();
}

void DirectReduction::reduce() {
  const Dtype dtype = call_.in.dtype;
  const std::uint64_t out = lane_.payload_as<Places>(call_.root).out;
  reduce_part(slice(lane_.rank()), [&](const Piece& tile, const auto& reduce_to) {
    if (lane_.rank() == call_.root) return reduce_to(element(call_.out.data, dtype, tile.begin));
    std::byte* const result = lane_.tile(lane_.rank());
    reduce_to(result);
    write_place(lane_, call_.root, out, {offset_of(tile, dtype), bytes_of(tile, dtype)}, result,
                false);
  });
  lane_.leave();
}

void DirectReduction::all_reduce() {
  const Dtype dtype = call_.in.dtype;
  const std::uint64_t round = lane_.take_chunks(1) + 1;
  reduce_part(slice(lane_.rank()), [&](const Piece& tile, const auto& reduce_to) {
    reduce_to(element(call_.out.data, dtype, tile.begin));
  });
  lane_.post(Counter::reduced, round);
  for (int step = 1; step < lane_.size(); ++step) {
    const int peer = (lane_.rank() + step) % lane_.size();
    const Piece theirs = slice(peer);
    // It has read my input there, too: my output may be the same memory.
    lane_.wait(Counter::reduced, round, peer);
    read_place(lane_, peer, lane_.payload_as<Places>(peer).out,
               {offset_of(theirs, dtype), bytes_of(theirs, dtype)},
               element(call_.out.data, dtype, theirs.begin), false);
  }
  lane_.leave();
}

}  // namespace muster::collectives::shm
