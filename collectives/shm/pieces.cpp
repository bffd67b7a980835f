#include "collectives/shm/pieces.hpp"

#include <cstring>

#include "kernels/ops/reduce.hpp"

namespace muster::collectives::shm {
namespace {

// Below this the call of a kernel costs more than its threads or its streaming stores can save.
constexpr std::size_t kPlainCopy = 64 * kKiB;

}  // namespace

Places places_of(const Group& group, const Call& call) noexcept {
  return {group.heap_offset(call.in).value_or(Places::kPrivate),
          group.heap_offset(call.out).value_or(Places::kPrivate)};
}

void meet_with_places(Lane& lane, const Call& call) {
  lane.set_payload(places_of(lane.group(), call));
  lane.arrive();
  lane.meet();
}

bool all_inputs_are_symmetric(const Lane& lane) noexcept {
  for (int rank = 0; rank < lane.size(); ++rank) {
    if (lane.payload_as<Places>(rank).in == Places::kPrivate) return false;
  }
  return true;
}

const std::byte* input_of(const Lane& lane, int rank) noexcept {
  return lane.group().segments.base(rank) + lane.payload_as<Places>(rank).in;
}

void copy(Lane& lane, std::byte* dst, const std::byte* src, std::size_t bytes, bool streaming) {
  if (dst == src) return;
  if (bytes <= kPlainCopy) {
    std::memcpy(dst, src, bytes);
    return;
  }
  // The greatest of one number is that number: a reduction of one source is a copy.
  const auto count = static_cast<std::int64_t>(bytes);
  const TensorView destination(dst, Dtype::u8, 1, count);
  const ConstTensorView source(src, Dtype::u8, 1, count);
  kernels::reduce(lane.device(), {.destinations = {&destination, 1},
                                  .sources = {&source, 1},
                                  .op = ReduceOp::max,
                                  .streaming = streaming});
}

}  // namespace muster::collectives::shm
