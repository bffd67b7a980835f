#include "collectives/shm/algorithms.hpp"
#include "collectives/shm/pieces.hpp"
#include "collectives/shm/pipeline.hpp"

namespace muster::collectives::shm {
namespace {

// Only the root's memory is read, so only the root waits for the others to be done.
void pull(Lane& lane, const Call& call, bool streaming) {
  const bool is_root = lane.rank() == call.root;
  if (!is_root) {
    read_place(lane, call.root, lane.payload_as<Places>(call.root).in, {0, call.in.bytes()},
               call.out.data, streaming);
  }
  lane.post(Counter::done, lane.round());
  if (is_root) lane.wait_all(Counter::done, lane.round());
}

void staged(Lane& lane, const Call& call, bool streaming) {
  const bool is_root = lane.rank() == call.root;
  const Dtype dtype = call.in.dtype;
  const Chunks chunks(lane, call.in.count(), chunk_length(lane, dtype, 1));
  const auto place = [&](std::uint64_t chunk) {
    return element(call.out.data, dtype, chunks.piece(chunk).begin);
  };
  const auto move = [&](std::byte* dst, const std::byte* src, std::uint64_t chunk, bool past) {
    copy(lane, dst, src, bytes_of(chunks.piece(chunk), dtype), past);
  };
  const auto fill = [&](std::uint64_t chunk) {
    move(lane.chunk_slot(call.root, chunk), place(chunk), chunk, false);
  };
  const auto stage = [&](std::uint64_t chunk) {
    if (is_root) lane.stage_chunk(chunk, fill);
  };
  const auto take = [&](std::uint64_t chunk) {
    if (is_root) return;
    lane.wait(Counter::staged, chunk + 1, call.root);
    move(place(chunk), lane.chunk_slot(call.root, chunk), chunk, streaming);
  };
  pipeline(lane, chunks, stage, take);
}

// The root waits for nobody: others find what it shows when they come.
void small_broadcast(Lane& lane, const Call& call) {
  const std::size_t bytes = call.in.bytes();
  const bool is_root = lane.rank() == call.root;
  arrive_with_data(lane, call.in.data, is_root ? bytes : 0);
  lane.meet(call.root);
  if (!is_root) std::memcpy(call.out.data, data_of(lane, call.root, bytes), bytes);
}

}  // namespace

bool may_lead(const Call& call) noexcept {
  return call.kind == CallKind::broadcast && call.in.bytes() <= kSmallBytes;
}

void broadcast(Lane& lane, const Call& call) {
  if (may_lead(call)) return small_broadcast(lane, call);
  meet_with_places(lane, call);
  const bool is_streaming = exceeds_caches(call.in.bytes());
  const std::uint64_t place = lane.payload_as<Places>(call.root).in;
  // The kernel copies through the caches: by way of staging, past them, what exceeds them is there
  // in half the time.
  const bool is_quick = !Places::is_private(place) || !is_streaming;
  if (is_quick && is_reachable(lane, place)) {
    pull(lane, call, is_streaming);
  } else {
    staged(lane, call, is_streaming);
  }
}

void barrier(Lane& lane) {
  lane.arrive();
  lane.meet();
}

}  // namespace muster::collectives::shm
