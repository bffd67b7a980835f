#include "collectives/shm/group.hpp"

#include <fmt/format.h>

namespace muster::collectives::shm {

WaitPolicy WaitPolicy::of(int cores_per_rank) noexcept {
  if (cores_per_rank == 0) return {.polls = 20, .yield_s = 1e-3};
  return {.polls = 2000, .yield_s = 10e-3};
}

std::string Group::describe(int of_rank) const {
  const Peer& peer = peers[static_cast<std::size_t>(of_rank)];
  return fmt::format("rank {} (pid {}, host {})", shown.rank(of_rank), peer.pid, peer.host);
}

std::optional<std::uint64_t> Group::heap_offset(ConstTensorView data) const noexcept {
  const std::byte* const base = segments.base(rank);
  if (data.data < base + heap_begin(size) || data.data + data.bytes() > base + segments.bytes()) {
    return std::nullopt;
  }
  return static_cast<std::uint64_t>(data.data - base);
}

}  // namespace muster::collectives::shm
