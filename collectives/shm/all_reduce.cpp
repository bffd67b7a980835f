#include <span>

#include "collectives/shm/algorithms.hpp"
#include "collectives/shm/direct_reduction.hpp"
#include "collectives/shm/inline_reduce.hpp"
#include "collectives/shm/pieces.hpp"
#include "collectives/shm/staged_reduction.hpp"
#include "kernels/ops/reduce.hpp"

namespace muster::collectives::shm {
namespace {

enum class Path { one_shot, push, direct, staged };

// Up to here a second sync costs more than copying the input.
constexpr std::size_t kAlwaysOneShot = 1 * kKiB;

struct Memories {
  bool all_symmetric = true;
  bool any_symmetric = false;

  void add(const Places& places) noexcept {
    const bool is_symmetric = !Places::is_private(places.in) && !Places::is_private(places.out);
    all_symmetric = all_symmetric && is_symmetric;
    any_symmetric = any_symmetric || is_symmetric;
  }
};

Path choose(const Lane& lane, std::size_t bytes, const Memories& memories) {
  if (bytes <= kAlwaysOneShot) return Path::one_shot;
  if (memories.all_symmetric) return Path::push;
  const bool is_small = bytes <= lane.group().tuning.one_shot_bytes;
  if (is_small && !memories.any_symmetric) return Path::one_shot;
  return lane.group().reaches_private ? Path::direct : Path::staged;
}

// False where a reduce leaves nothing on this rank.
bool gets_result(const Call& call) noexcept {
  return call.out.count() > 0;
}

void one_shot(Lane& lane, const Call& call) {
  if (!gets_result(call)) return;
  auto& sources = lane.sources();
  for (int rank = 0; rank < lane.size(); ++rank) {
    const std::byte* data = rank == lane.rank() ? call.in.data : lane.one_shot_slot(rank);
    sources[static_cast<std::size_t>(rank)] = {data, call.in.dtype, 1, call.in.count()};
  }
  kernels::reduce(lane.device(),
                  {.destinations = {&call.out, 1}, .sources = sources, .op = call.op});
}

// The part of `mine` in the outputs of all ranks, or in that of the root.
std::span<const TensorView> destinations_of(Lane& lane, const Call& call, const Piece& mine) {
  const Dtype dtype = call.in.dtype;
  const bool is_to_root = call.kind == CallKind::reduce;
  const int first = is_to_root ? call.root : lane.rank();
  const std::size_t count = is_to_root ? 1 : static_cast<std::size_t>(lane.size());
  for (std::size_t step = 0; step < count; ++step) {
    const int rank = (first + static_cast<int>(step)) % lane.size();
    lane.destinations()[step] = {element(output_of(lane, rank), dtype, mine.begin), dtype, 1,
                                 mine.count};
  }
  return std::span(lane.destinations()).first(count);
}

void push(Lane& lane, const Call& call) {
  const Dtype dtype = call.in.dtype;
  const Piece mine = slice_of(call.in.count(), dtype, lane.rank(), lane.size());
  if (mine.count > 0) {
    for (int rank = 0; rank < lane.size(); ++rank) {
      lane.sources()[static_cast<std::size_t>(rank)] = {
          element(input_of(lane, rank), dtype, mine.begin), dtype, 1, mine.count};
    }
    const auto places = lane.payload_as<Places>(call.root);
    const bool is_in_place = places.in == places.out;
    kernels::reduce(lane.device(), {.destinations = destinations_of(lane, call, mine),
                                    .sources = lane.sources(),
                                    .op = call.op,
                                    .streaming = !is_in_place && exceeds_caches(call.in.bytes())});
  }
  lane.leave();
}

void direct(Lane& lane, const Call& call) {
  DirectReduction reduction(lane, call);
  if (call.kind == CallKind::reduce) {
    reduction.reduce();
  } else {
    reduction.all_reduce();
  }
}

void run(Lane& lane, const Call& call) {
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
  StagedReduction staged(lane, call);
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
    case Path::direct: direct(lane, call); break;
    case Path::staged: staged.finish(); break;
  }
}

}  // namespace

void all_reduce(Lane& lane, const Call& call) {
  run(lane, call);
}

void reduce(Lane& lane, const Call& call) {
  run(lane, call);
}

}  // namespace muster::collectives::shm
