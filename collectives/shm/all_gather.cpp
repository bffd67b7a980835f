#include "collectives/shm/algorithms.hpp"
#include "collectives/shm/pieces.hpp"
#include "collectives/shm/pipeline.hpp"

namespace muster::collectives::shm {
namespace {

// Where `rank`'s share of the output begins.
std::byte* share_of(const Call& call, int rank) {
  return element(call.out.data, call.out.dtype, call.in.count() * rank);
}

void pull(Lane& lane, const Call& call, bool streaming) {
  for (int step = 1; step < lane.size(); ++step) {
    const int peer = (lane.rank() + step) % lane.size();
    copy(lane, share_of(call, peer), input_of(lane, peer), call.in.bytes(), streaming);
  }
  lane.leave();
}

void staged(Lane& lane, const Call& call, bool streaming) {
  const Dtype dtype = call.in.dtype;
  const Chunks chunks(lane, call.in.count(), chunk_length(lane, dtype, 1));
  const auto fill = [&](std::uint64_t chunk) {
    const Piece piece = chunks.piece(chunk);
    copy(lane, lane.chunk_slot(lane.rank(), chunk), element(call.in.data, dtype, piece.begin),
         bytes_of(piece, dtype), false);
  };
  const auto take = [&](std::uint64_t chunk) {
    const Piece piece = chunks.piece(chunk);
    for (int step = 1; step < lane.size(); ++step) {
      const int peer = (lane.rank() + step) % lane.size();
      lane.wait(Counter::staged, chunk + 1, peer);
      copy(lane, element(share_of(call, peer), dtype, piece.begin), lane.chunk_slot(peer, chunk),
           bytes_of(piece, dtype), streaming);
    }
  };
  pipeline(
      lane, chunks, [&](std::uint64_t chunk) { lane.stage_chunk(chunk, fill); }, take);
}

}  // namespace

void all_gather(Lane& lane, const Call& call) {
  meet_with_places(lane, call);
  const bool is_streaming = call.out.bytes() > kStreamingBytes;
  copy(lane, share_of(call, lane.rank()), call.in.data, call.in.bytes(), is_streaming);
  if (all_inputs_are_symmetric(lane)) {
    pull(lane, call, is_streaming);
  } else {
    staged(lane, call, is_streaming);
  }
}

}  // namespace muster::collectives::shm
