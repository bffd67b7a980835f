#include "collectives/shm/tuning.hpp"

#include <algorithm>

namespace muster::collectives::shm {
namespace {

// A small part of a second-level cache: what is staged is still there when the others read it. From
// 128 KiB to 512 KiB the time hardly changes.
constexpr std::size_t kChunk = 256 * kKiB;
// One-shot moves (n + 3) S bytes per rank and staged (5 - 2/n) S with one sync more: two ranks are
// quicker in one shot as long as there is room, many only while a sync costs more than the bytes.
constexpr std::size_t kLeastOneShot = 4 * kKiB;

}  // namespace

Tuning default_tuning(int ranks) noexcept {
  const auto others = static_cast<std::size_t>(std::max(ranks - 1, 1));
  Tuning tuning;
  tuning.one_shot_bytes = std::max(kMaxOneShot / (others * others), kLeastOneShot);
  tuning.chunk_bytes = kChunk;
  return tuning;
}

}  // namespace muster::collectives::shm
