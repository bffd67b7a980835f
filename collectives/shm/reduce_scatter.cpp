#include "collectives/shm/algorithms.hpp"
#include "collectives/shm/pieces.hpp"
#include "collectives/shm/pipeline.hpp"
#include "kernels/ops/reduce.hpp"

namespace muster::collectives::shm {
namespace {

void pull(Lane& lane, const Call& call) {
  const Dtype dtype = call.in.dtype;
  const std::int64_t share = call.out.count();
  for (int rank = 0; rank < lane.size(); ++rank) {
    lane.sources()[static_cast<std::size_t>(rank)] = {
        element(input_of(lane, rank), dtype, share * lane.rank()), dtype, 1, share};
  }
  kernels::reduce(lane.device(), {.destinations = {&call.out, 1},
                                  .sources = lane.sources(),
                                  .op = call.op,
                                  .streaming = call.in.bytes() > kStreamingBytes});
  lane.leave();
}

// By way of staging: a slot holds one piece of the share of every rank.
class Staged {
 public:
  Staged(Lane& lane, const Call& call)
      : lane_(lane),
        call_(call),
        dtype_(call.in.dtype),
        length_(chunk_length(lane, dtype_, lane.size())),
        chunks_(lane, call.out.count(), length_) {}

  void run() {
    pipeline(
        lane_, chunks_, [this](std::uint64_t chunk) { stage(chunk); },
        [this](std::uint64_t chunk) { reduce(chunk); });
  }

 private:
  const std::byte* input(const Piece& piece, int rank) const {
    return element(call_.in.data, dtype_, call_.out.count() * rank + piece.begin);
  }
  std::byte* staged(std::uint64_t chunk, int from, int to) const {
    return element(lane_.chunk_slot(from, chunk), dtype_, length_ * to);
  }

  void stage(std::uint64_t chunk) {
    lane_.stage_chunk(chunk, [this](std::uint64_t number) {
      const Piece piece = chunks_.piece(number);
      for (int step = 1; step < lane_.size(); ++step) {
        const int peer = (lane_.rank() + step) % lane_.size();
        copy(lane_, staged(number, lane_.rank(), peer), input(piece, peer), bytes_of(piece, dtype_),
             false);
      }
    });
  }

  void reduce(std::uint64_t chunk) {
    const Piece piece = chunks_.piece(chunk);
    const int mine = lane_.rank();
    lane_.wait_all(Counter::staged, chunk + 1);
    for (int rank = 0; rank < lane_.size(); ++rank) {
      const std::byte* const data = rank == mine ? input(piece, rank) : staged(chunk, rank, mine);
      lane_.sources()[static_cast<std::size_t>(rank)] = {data, dtype_, 1, piece.count};
    }
    const TensorView out(element(call_.out.data, dtype_, piece.begin), dtype_, 1, piece.count);
    kernels::reduce(lane_.device(),
                    {.destinations = {&out, 1}, .sources = lane_.sources(), .op = call_.op});
  }

  Lane& lane_;
  const Call& call_;
  Dtype dtype_;
  std::int64_t length_;
  Chunks chunks_;
};

}  // namespace

void reduce_scatter(Lane& lane, const Call& call) {
  meet_with_places(lane, call);
  if (all_inputs_are_symmetric(lane)) {
    pull(lane, call);
  } else {
    Staged(lane, call).run();
  }
}

}  // namespace muster::collectives::shm
