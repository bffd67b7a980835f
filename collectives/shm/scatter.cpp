#include "collectives/shm/algorithms.hpp"
#include "collectives/shm/pieces.hpp"
#include "collectives/shm/pipeline.hpp"

namespace muster::collectives::shm {
namespace {

class Scatter {
 public:
  Scatter(Lane& lane, const Call& call)
      : lane_(lane),
        call_(call),
        dtype_(call.out.dtype),
        is_root_(lane.rank() == call.root),
        whole_bytes_(call.out.bytes() * static_cast<std::size_t>(lane.size())),
        is_streaming_(exceeds_caches(whole_bytes_)) {}

  void run() {
    if (whole_bytes_ <= kSmallBytes) return small();
    meet_with_places(lane_, call_);
    if (is_root_) take(call_.out.data, share_of(call_.in.data, lane_.rank()));
    const std::uint64_t in = lane_.payload_as<Places>(call_.root).in;
    if (is_reachable(lane_, in)) {
      pull(in);
    } else if (all_outputs_are_symmetric(lane_)) {
      push();
    } else {
      staged();
    }
  }

 private:
  const std::byte* share_of(const std::byte* in, int rank) const {
    return element(in, dtype_, call_.out.count() * rank);
  }
  void take(std::byte* out, const std::byte* share) {
    copy(lane_, out, share, call_.out.bytes(), is_streaming_);
  }

  void small() {
    meet_with_data(lane_, call_.in.data, is_root_ ? whole_bytes_ : 0);
    const std::byte* const whole =
        is_root_ ? call_.in.data : data_of(lane_, call_.root, whole_bytes_);
    take(call_.out.data, share_of(whole, lane_.rank()));
  }

  // Only the root's memory is read, so only the root waits for the others to be done.
  void pull(std::uint64_t in) {
    const std::size_t bytes = call_.out.bytes();
    if (!is_root_) {
      read_place(lane_, call_.root, in, {bytes * static_cast<std::size_t>(lane_.rank()), bytes},
                 call_.out.data, is_streaming_);
    }
    lane_.post(Counter::done, lane_.round());
    if (is_root_) lane_.wait_all(Counter::done, lane_.round());
  }

  // Only the root writes, so all others wait for it alone.
  void push() {
    for (int step = 1; is_root_ && step < lane_.size(); ++step) {
      const int peer = (lane_.rank() + step) % lane_.size();
      take(output_of(lane_, peer), share_of(call_.in.data, peer));
    }
    lane_.post(Counter::done, lane_.round());
    lane_.wait(Counter::done, lane_.round(), call_.root);
  }

  // A slot of the root's holds one piece of the share of every rank.
  void staged() {
    const std::int64_t length = chunk_length(lane_, dtype_, lane_.size());
    const Chunks chunks(lane_, call_.out.count(), length);
    const auto slot = [&](std::uint64_t chunk, int rank) {
      return element(lane_.chunk_slot(call_.root, chunk), dtype_, length * rank);
    };
    const auto fill = [&](std::uint64_t chunk) {
      const Piece piece = chunks.piece(chunk);
      for (int step = 1; step < lane_.size(); ++step) {
        const int peer = (lane_.rank() + step) % lane_.size();
        copy(lane_, slot(chunk, peer), element(share_of(call_.in.data, peer), dtype_, piece.begin),
             bytes_of(piece, dtype_), false);
      }
    };
    const auto stage = [&](std::uint64_t chunk) {
      if (is_root_) lane_.stage_chunk(chunk, fill);
    };
    const auto take_piece = [&](std::uint64_t chunk) {
      if (is_root_) return;
      const Piece piece = chunks.piece(chunk);
      lane_.wait(Counter::staged, chunk + 1, call_.root);
      copy(lane_, element(call_.out.data, dtype_, piece.begin), slot(chunk, lane_.rank()),
           bytes_of(piece, dtype_), is_streaming_);
    };
    pipeline(lane_, chunks, stage, take_piece);
  }

  Lane& lane_;
  const Call& call_;
  Dtype dtype_;
  bool is_root_;
  std::size_t whole_bytes_;  // of the root's input
  bool is_streaming_;
};

}  // namespace

void scatter(Lane& lane, const Call& call) {
  Scatter(lane, call).run();
}

}  // namespace muster::collectives::shm
