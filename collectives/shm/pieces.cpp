#include "collectives/shm/pieces.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>
#include <unistd.h>

#include "collectives/shm/private_memory.hpp"
#include "kernels/ops/reduce.hpp"

namespace muster::collectives::shm {
namespace {

// Below this the call of a kernel costs more than its threads or its streaming stores can save.
constexpr std::size_t kPlainCopy = 64 * kKiB;

// A part of the last-level cache, which all ranks fill. On a processor with 480 MiB of it, messages
// of 16 MiB are a twentieth quicker through the caches, those of 64 MiB a third slower.
constexpr std::size_t kPartOfCache = 20;
constexpr std::size_t kLeastStreaming = 8 * kMiB;
constexpr std::size_t kMostStreaming = 24 * kMiB;

pid_t pid_of(const Lane& lane, int rank) noexcept {
  return lane.group().peers[static_cast<std::size_t>(rank)].pid;
}

void check(Lane& lane, int rank, int error) {
  if (error == 0) return;
  lane.throw_unreachable(
      rank, error == ESRCH ? "has ended"
                           : fmt::format("has memory out of reach: {}", std::strerror(error)));
}

}  // namespace

bool exceeds_caches(std::size_t bytes) noexcept {
  static const std::size_t limit = [] {
    const long cache = ::sysconf(_SC_LEVEL3_CACHE_SIZE);  // 0 or -1 where it is not known
    return std::clamp(static_cast<std::size_t>(std::max(cache, 0L)) / kPartOfCache, kLeastStreaming,
                      kMostStreaming);
  }();
  return bytes > limit;
}

std::uint64_t place_of(const Group& group, ConstTensorView view) noexcept {
  if (view.count() == 0) return 0;
  const std::uint64_t address = reinterpret_cast<std::uintptr_t>(view.data);
  return group.heap_offset(view).value_or(Places::kPrivate | address);
}

Places places_of(const Group& group, const Call& call) noexcept {
  return {place_of(group, call.in), place_of(group, call.out)};
}

void meet_with_places(Lane& lane, const Call& call) {
  lane.set_payload(places_of(lane.group(), call));
  lane.arrive();
  lane.meet();
}

bool all_inputs_are_symmetric(const Lane& lane) noexcept {
  for (int rank = 0; rank < lane.size(); ++rank) {
    if (Places::is_private(lane.payload_as<Places>(rank).in)) return false;
  }
  return true;
}

bool all_outputs_are_symmetric(const Lane& lane) noexcept {
  for (int rank = 0; rank < lane.size(); ++rank) {
    if (Places::is_private(lane.payload_as<Places>(rank).out)) return false;
  }
  return true;
}

const std::byte* input_of(const Lane& lane, int rank) noexcept {
  return lane.group().segments.base(rank) + lane.payload_as<Places>(rank).in;
}

std::byte* output_of(const Lane& lane, int rank) noexcept {
  return lane.group().segments.base(rank) + lane.payload_as<Places>(rank).out;
}

void read_place(Lane& lane, int rank, std::uint64_t place, Range range, std::byte* to,
                bool streaming) {
  if (range.size == 0) return;
  if (Places::is_private(place)) {
    const std::uint64_t address = (place & ~Places::kPrivate) + range.begin;
    check(lane, rank, read_private(pid_of(lane, rank), address, to, range.size));
  } else {
    copy(lane, to, lane.group().segments.base(rank) + place + range.begin, range.size, streaming);
  }
}

void write_place(Lane& lane, int rank, std::uint64_t place, Range range, const std::byte* from,
                 bool streaming) {
  if (range.size == 0) return;
  if (Places::is_private(place)) {
    const std::uint64_t address = (place & ~Places::kPrivate) + range.begin;
    check(lane, rank, write_private(pid_of(lane, rank), address, from, range.size));
  } else {
    copy(lane, lane.group().segments.base(rank) + place + range.begin, from, range.size, streaming);
  }
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
