#include "collectives/shm/pieces.hpp"

#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "collectives/copy.hpp"
#include "collectives/shm/private_memory.hpp"

namespace muster::collectives::shm {
namespace {

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

void arrive_with_data(Lane& lane, const std::byte* data, std::size_t bytes) {
  std::byte* const to =
      bytes <= kInlineBytes ? lane.payload().data() : lane.shown_slot(lane.rank());
  if (bytes > 0) std::memcpy(to, data, bytes);
  lane.arrive();
}

void meet_with_data(Lane& lane, const std::byte* data, std::size_t bytes) {
  arrive_with_data(lane, data, bytes);
  lane.meet();
}

const std::byte* data_of(const Lane& lane, int rank, std::size_t bytes) noexcept {
  return bytes <= kInlineBytes ? lane.payload(rank).data() : lane.shown_slot(rank);
}

void copy(Lane& lane, std::byte* dst, const std::byte* src, std::size_t bytes, bool streaming) {
  collectives::copy(lane.device(), dst, src, bytes, streaming);
}

}  // namespace muster::collectives::shm
