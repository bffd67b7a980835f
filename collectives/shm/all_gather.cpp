#include "collectives/shm/algorithms.hpp"
#include "collectives/shm/pieces.hpp"
#include "collectives/shm/pipeline.hpp"
#include "collectives/shm/shares.hpp"

namespace muster::collectives::shm {
namespace {

class AllGather {
 public:
  AllGather(Lane& lane, const Call& call, const Shares& shares)
      : lane_(lane),
        call_(call),
        shares_(shares),
        dtype_(call.in.dtype),
        is_streaming_(exceeds_caches(call.out.bytes())) {}

  // The ranks have met.
  void run() {
    copy(lane_, at(call_.out.data, shares_.share(lane_.rank())), call_.in.data, call_.in.bytes(),
         is_streaming_);
    const bool can_push = all_outputs_are_symmetric(lane_);
    const bool can_pull = all_inputs_are_symmetric(lane_);
    if (can_pull || (lane_.group().reaches_private && !can_push)) {
      pull();
    } else if (can_push) {
      push();
    } else {
      staged();
    }
  }

 private:
  std::byte* at(std::byte* data, const Piece& piece) const {
    return element(data, dtype_, piece.begin);
  }
  int peer(int step) const { return (lane_.rank() + step) % lane_.size(); }

  void pull() {
    for (int step = 1; step < lane_.size(); ++step) {
      const Piece share = shares_.share(peer(step));
      read_place(lane_, peer(step), lane_.payload_as<Places>(peer(step)).in,
                 {0, bytes_of(share, dtype_)}, at(call_.out.data, share), is_streaming_);
    }
    lane_.leave();
  }

  void push() {
    const Piece mine = shares_.share(lane_.rank());
    for (int step = 1; step < lane_.size(); ++step) {
      copy(lane_, at(output_of(lane_, peer(step)), mine), call_.in.data, call_.in.bytes(),
           is_streaming_);
    }
    lane_.leave();
  }

  void staged() {
    const Chunks chunks(lane_, shares_.largest(), chunk_length(lane_, dtype_, 1));
    const auto fill = [&](std::uint64_t chunk) {
      const Piece piece = chunks.piece(chunk);
      const std::size_t bytes = bytes_of(shares_.part(lane_.rank(), piece), dtype_);
      copy(lane_, lane_.chunk_slot(lane_.rank(), chunk),
           element(call_.in.data, dtype_, piece.begin), bytes, false);
    };
    const auto take = [&](std::uint64_t chunk) {
      for (int step = 1; step < lane_.size(); ++step) {
        const Piece part = shares_.part(peer(step), chunks.piece(chunk));
        lane_.wait(Counter::staged, chunk + 1, peer(step));
        copy(lane_, at(call_.out.data, part), lane_.chunk_slot(peer(step), chunk),
             bytes_of(part, dtype_), is_streaming_);
      }
    };
    pipeline(
        lane_, chunks, [&](std::uint64_t chunk) { lane_.stage_chunk(chunk, fill); }, take);
  }

  Lane& lane_;
  const Call& call_;
  const Shares& shares_;
  Dtype dtype_;
  bool is_streaming_;
};

void small_all_gather(Lane& lane, const Call& call) {
  const std::size_t bytes = call.in.bytes();
  meet_with_data(lane, call.in.data, bytes);
  for (int rank = 0; rank < lane.size(); ++rank) {
    const std::byte* const data = rank == lane.rank() ? call.in.data : data_of(lane, rank, bytes);
    copy(lane, element(call.out.data, call.out.dtype, call.in.count() * rank), data, bytes, false);
  }
}

}  // namespace

void all_gather(Lane& lane, const Call& call) {
  if (call.in.bytes() <= kSmallBytes) return small_all_gather(lane, call);
  meet_with_places(lane, call);
  AllGather(lane, call, Shares::even(call.in.count())).run();
}

void all_gather_v(Lane& lane, const Call& call) {
  meet_with_counts(lane, call);
  AllGather(lane, call, Shares::of(call.out_counts, lane.begins(0))).run();
}

}  // namespace muster::collectives::shm
