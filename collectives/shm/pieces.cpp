#include "collectives/shm/pieces.hpp"

#include <cstring>

#include "kernels/ops/reduce.hpp"

namespace muster::collectives::shm {
namespace {

// Below this the call of a kernel costs more than its threads or its streaming stores can save.
constexpr std::size_t kPlainCopy = 64 * kKiB;

}  // namespace

Places places_of(const Group& group, const Call& call) noexcept {
  const auto place = [&group](ConstTensorView view) {
    return view.count() == 0 ? 0 : group.heap_offset(view).value_or(Places::kPrivate);
  };
  return {place(call.in), place(call.out)};
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

bool all_outputs_are_symmetric(const Lane& lane) noexcept {
  for (int rank = 0; rank < lane.size(); ++rank) {
    if (lane.payload_as<Places>(rank).out == Places::kPrivate) return false;
  }
  return true;
}

const std::byte* input_of(const Lane& lane, int rank) noexcept {
  return lane.group().segments.base(rank) + lane.payload_as<Places>(rank).in;
}

std::byte* output_of(const Lane& lane, int rank) noexcept {
  return lane.group().segments.base(rank) + lane.payload_as<Places>(rank).out;
}

void meet_with_data(Lane& lane, const std::byte* data, std::size_t bytes) {
  std::byte* const to =
      bytes <= kInlineBytes ? lane.payload().data() : lane.one_shot_slot(lane.rank());
  if (bytes > 0) std::memcpy(to, data, bytes);
  lane.arrive();
  lane.meet();
}

const std::byte* data_of(const Lane& lane, int rank, std::size_t bytes) noexcept {
  return bytes <= kInlineBytes ? lane.payload(rank).data() : lane.one_shot_slot(rank);
}

void copy(Lane& lane, std::byte* dst, const std::byte* src, std::size_t bytes, bool streaming) {
  if (dst == src || bytes == 0) return;
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
