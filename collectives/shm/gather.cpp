#include "collectives/shm/algorithms.hpp"
#include "collectives/shm/pieces.hpp"
#include "collectives/shm/pipeline.hpp"

namespace muster::collectives::shm {
namespace {

class Gather {
 public:
  Gather(Lane& lane, const Call& call)
      : lane_(lane),
        call_(call),
        dtype_(call.in.dtype),
        is_root_(lane.rank() == call.root),
        is_streaming_(exceeds_caches(call.in.bytes() * static_cast<std::size_t>(lane.size()))) {}

  void run() {
    if (call_.in.bytes() <= kSmallBytes) return small();
    meet_with_places(lane_, call_);
    if (is_root_) place(call_.out.data, lane_.rank(), call_.in.data);
    const std::uint64_t out = lane_.payload_as<Places>(call_.root).out;
    if (is_reachable(lane_, out)) {
      push(out);
    } else if (all_inputs_are_symmetric(lane_)) {
      pull();
    } else {
      staged();
    }
  }

 private:
  std::byte* share_of(std::byte* out, int rank) const {
    return element(out, dtype_, call_.in.count() * rank);
  }
  void place(std::byte* out, int rank, const std::byte* data) {
    copy(lane_, share_of(out, rank), data, call_.in.bytes(), is_streaming_);
  }

  void small() {
    meet_with_data(lane_, call_.in.data, is_root_ ? 0 : call_.in.bytes());
    for (int rank = 0; is_root_ && rank < lane_.size(); ++rank) {
      const bool is_mine = rank == lane_.rank();
      place(call_.out.data, rank, is_mine ? call_.in.data : data_of(lane_, rank, call_.in.bytes()));
    }
  }

  // Only the root's memory is written, so only the root waits for the others to be done.
  void push(std::uint64_t out) {
    const std::size_t bytes = call_.in.bytes();
    if (!is_root_) {
      write_place(lane_, call_.root, out, {bytes * static_cast<std::size_t>(lane_.rank()), bytes},
                  call_.in.data, is_streaming_);
    }
    lane_.post(Counter::done, lane_.round());
    if (is_root_) lane_.wait_all(Counter::done, lane_.round());
  }

  // Only the root reads, so all others wait for it alone.
  void pull() {
    for (int step = 1; is_root_ && step < lane_.size(); ++step) {
      const int peer = (lane_.rank() + step) % lane_.size();
      place(call_.out.data, peer, input_of(lane_, peer));
    }
    lane_.post(Counter::done, lane_.round());
    lane_.wait(Counter::done, lane_.round(), call_.root);
  }

  void staged() {
    const Chunks chunks(lane_, call_.in.count(), chunk_length(lane_, dtype_, 1));
    const auto fill = [&](std::uint64_t chunk) {
      const Piece piece = chunks.piece(chunk);
      copy(lane_, lane_.chunk_slot(lane_.rank(), chunk),
           element(call_.in.data, dtype_, piece.begin), bytes_of(piece, dtype_), false);
    };
    const auto stage = [&](std::uint64_t chunk) {
      if (!is_root_) lane_.stage_chunk(chunk, fill);
    };
    const auto take = [&](std::uint64_t chunk) {
      const Piece piece = chunks.piece(chunk);
      for (int step = 1; is_root_ && step < lane_.size(); ++step) {
        const int peer = (lane_.rank() + step) % lane_.size();
        lane_.wait(Counter::staged, chunk + 1, peer);
        copy(lane_, element(share_of(call_.out.data, peer), dtype_, piece.begin),
             lane_.chunk_slot(peer, chunk), bytes_of(piece, dtype_), is_streaming_);
      }
    };
    pipeline(lane_, chunks, stage, take);
  }

  Lane& lane_;
  const Call& call_;
  Dtype dtype_;
  bool is_root_;
  bool is_streaming_;
};

}  // namespace

void gather(Lane& lane, const Call& call) {
  Gather(lane, call).run();
}

}  // namespace muster::collectives::shm
