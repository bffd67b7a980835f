#include "collectives/shm/algorithms.hpp"
#include "collectives/shm/inline_reduce.hpp"
#include "collectives/shm/pieces.hpp"
#include "collectives/shm/staged_all_reduce.hpp"
#include "kernels/ops/reduce.hpp"

namespace muster::collectives::shm {
namespace {

enum class Path { one_shot, push, staged };

// Up to here a second sync costs more than copying the input.
constexpr std::size_t kAlwaysOneShot = 1 * kKiB;

struct Memories {
  bool all_symmetric = true;
  bool any_symmetric = false;

  void add(const Places& places) noexcept {
    const bool is_symmetric = places.in != Places::kPrivate && places.out != Places::kPrivate;
    all_symmetric = all_symmetric && is_symmetric;
    any_symmetric = any_symmetric || is_symmetric;
  }
};

Path choose(const Lane& lane, std::size_t bytes, const Memories& memories) {
  if (bytes <= kAlwaysOneShot) return Path::one_shot;
  if (memories.all_symmetric) return Path::push;
  const bool is_small = bytes <= lane.group().tuning.one_shot_bytes;
  return is_small && !memories.any_symmetric ? Path::one_shot : Path::staged;
}

void one_shot(Lane& lane, const Call& call) {
  auto& sources = lane.sources();
  for (int rank = 0; rank < lane.size(); ++rank) {
    const std::byte* data = rank == lane.rank() ? call.in.data : lane.one_shot_slot(rank);
    sources[static_cast<std::size_t>(rank)] = {data, call.in.dtype, 1, call.in.count()};
  }
  kernels::reduce(lane.device(),
                  {.destinations = {&call.out, 1}, .sources = sources, .op = call.op});
}

void push(Lane& lane, const Call& call) {
  const Dtype dtype = call.in.dtype;
  const Piece mine = slice_of(call.in.count(), dtype, lane.rank(), lane.size());
  for (int step = 0; mine.count > 0 && step < lane.size(); ++step) {
    const int rank = (lane.rank() + step) % lane.size();
    const auto places = lane.payload_as<Places>(rank);
    std::byte* const base = lane.group().segments.base(rank);
    lane.sources()[static_cast<std::size_t>(rank)] = {element(base + places.in, dtype, mine.begin),
                                                      dtype, 1, mine.count};
    lane.destinations()[static_cast<std::size_t>(step)] = {
        element(base + places.out, dtype, mine.begin), dtype, 1, mine.count};
  }
  if (mine.count > 0) {
    const bool is_in_place = call.in.data == call.out.data;
    kernels::reduce(lane.device(),
                    {.destinations = lane.destinations(),
                     .sources = lane.sources(),
                     .op = call.op,
                     .streaming = !is_in_place && call.in.bytes() > kStreamingBytes});
  }
  lane.leave();
}

}  // namespace

void all_reduce(Lane& lane, const Call& call) {
  const std::size_t bytes = call.in.bytes();
  if (bytes <= kInlineBytes) {
    inline_reduce(lane, call);
    return;
  }
  const Places mine = places_of(lane.group(), call);
  lane.set_payload(mine);
  Memories memories;
  memories.add(mine);

  // What can be copied before anybody waits is copied first. Where this rank's memory is private
  // the others cannot change the choice of `staged`.
  StagedAllReduce staged(lane, call);
  const Path guess = choose(lane, bytes, memories);
  if (guess == Path::one_shot) {
    copy(lane, lane.one_shot_slot(lane.rank()), call.in.data, bytes, false);
  }
  if (guess == Path::staged) staged.start();
  lane.arrive();
  lane.meet();

  for (int rank = 0; rank < lane.size(); ++rank) memories.add(lane.payload_as<Places>(rank));
  switch (choose(lane, bytes, memories)) {
    case Path::one_shot: one_shot(lane, call); break;
    case Path::push: push(lane, call); break;
    case Path::staged: staged.finish(); break;
  }
}

}  // namespace muster::collectives::shm
