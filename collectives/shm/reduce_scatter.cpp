#include "collectives/shm/algorithms.hpp"
#include "collectives/shm/direct_reduction.hpp"
#include "collectives/shm/pieces.hpp"
#include "collectives/shm/pipeline.hpp"
#include "collectives/shm/shares.hpp"
#include "kernels/ops/reduce.hpp"

namespace muster::collectives::shm {
namespace {

void pull(Lane& lane, const Call& call, const Piece& share) {
  const Dtype dtype = call.in.dtype;
  for (int rank = 0; rank < lane.size(); ++rank) {
    lane.sources()[static_cast<std::size_t>(rank)] = {
        element(input_of(lane, rank), dtype, share.begin), dtype, 1, share.count};
  }
  if (share.count > 0) {
    kernels::reduce(lane.device(), {.destinations = {&call.out, 1},
                                    .sources = lane.sources(),
                                    .op = call.op,
                                    .streaming = exceeds_caches(call.in.bytes())});
  }
  lane.leave();
}

void small_reduce_scatter(Lane& lane, const Call& call) {
  const std::size_t bytes = call.in.bytes();
  const std::int64_t share = call.out.count();
  meet_with_data(lane, call.in.data, bytes);
  for (int rank = 0; rank < lane.size(); ++rank) {
    const std::byte* const data = rank == lane.rank() ? call.in.data : data_of(lane, rank, bytes);
    lane.sources()[static_cast<std::size_t>(rank)] = {
        element(data, call.in.dtype, share * lane.rank()), call.in.dtype, 1, share};
  }
  kernels::reduce(lane.device(),
                  {.destinations = {&call.out, 1}, .sources = lane.sources(), .op = call.op});
}

// By way of staging: a slot holds one piece of the share of every rank.
class Staged {
 public:
  Staged(Lane& lane, const Call& call, const Shares& shares)
      : lane_(lane),
        call_(call),
        shares_(shares),
        dtype_(call.in.dtype),
        length_(chunk_length(lane, dtype_, lane.size())),
        chunks_(lane, shares.largest(), length_) {}

  void run() {
    pipeline(
        lane_, chunks_, [this](std::uint64_t chunk) { stage(chunk); },
        [this](std::uint64_t chunk) { reduce(chunk); });
  }

 private:
  std::byte* staged(std::uint64_t chunk, int from, int to) const {
    return element(lane_.chunk_slot(from, chunk), dtype_, length_ * to);
  }

  void stage(std::uint64_t chunk) {
    lane_.stage_chunk(chunk, [this](std::uint64_t number) {
      for (int step = 1; step < lane_.size(); ++step) {
        const int peer = (lane_.rank() + step) % lane_.size();
        const Piece part = shares_.part(peer, chunks_.piece(number));
        copy(lane_, staged(number, lane_.rank(), peer), element(call_.in.data, dtype_, part.begin),
             bytes_of(part, dtype_), false);
      }
    });
  }

  void reduce(std::uint64_t chunk) {
    const Piece piece = chunks_.piece(chunk);
    const int mine = lane_.rank();
    const Piece part = shares_.part(mine, piece);
    if (part.count == 0) return;
    lane_.wait_all(Counter::staged, chunk + 1);
    for (int rank = 0; rank < lane_.size(); ++rank) {
      const std::byte* const data =
          rank == mine ? element(call_.in.data, dtype_, part.begin) : staged(chunk, rank, mine);
      lane_.sources()[static_cast<std::size_t>(rank)] = {data, dtype_, 1, part.count};
    }
    const TensorView out(element(call_.out.data, dtype_, piece.begin), dtype_, 1, part.count);
    kernels::reduce(lane_.device(),
                    {.destinations = {&out, 1}, .sources = lane_.sources(), .op = call_.op});
  }

  Lane& lane_;
  const Call& call_;
  const Shares& shares_;
  Dtype dtype_;
  std::int64_t length_;
  Chunks chunks_;
};

// The ranks have met.
void run(Lane& lane, const Call& call, const Shares& shares) {
  if (all_inputs_are_symmetric(lane)) {
    pull(lane, call, shares.share(lane.rank()));
  } else if (lane.group().reaches_private) {
    DirectReduction(lane, call).reduce_scatter(shares.share(lane.rank()));
  } else {
    Staged(lane, call, shares).run();
  }
}

}  // namespace

void reduce_scatter(Lane& lane, const Call& call) {
  if (call.in.bytes() <= kSmallBytes) return small_reduce_scatter(lane, call);
  meet_with_places(lane, call);
  run(lane, call, Shares::even(call.out.count()));
}

void reduce_scatter_v(Lane& lane, const Call& call) {
  meet_with_counts(lane, call);
  run(lane, call, Shares::of(call.out_counts, lane.begins(0)));
}

}  // namespace muster::collectives::shm
