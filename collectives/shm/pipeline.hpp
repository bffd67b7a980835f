#pragma once

#include <utility>

#include "collectives/shm/lane.hpp"
#include "collectives/shm/pieces.hpp"

namespace muster::collectives::shm {

/// Elements of a chunk when a staging slot holds `parts` pieces of that many elements.
inline std::int64_t chunk_length(const Lane& lane, Dtype dtype, int parts) noexcept {
  const auto bytes = static_cast<std::int64_t>(lane.group().tuning.chunk_bytes);
  const auto width = static_cast<std::int64_t>(size_of(dtype));
  return std::max<std::int64_t>(bytes / parts / 64, 1) * 64 / width;
}

/// Runs stage(c) one chunk ahead of take(c), so that ranks copy in while others copy out. After
/// take(c) this rank needs nobody's staging of chunk c any more. There is a chunk at least.
template <typename Stage, typename Take>
void pipeline(Lane& lane, const Chunks& chunks, Stage&& stage, Take&& take) {
  stage(chunks.begin());
  for (std::uint64_t chunk = chunks.begin(); chunk < chunks.end(); ++chunk) {
    if (chunk + 1 < chunks.end()) stage(chunk + 1);
    take(chunk);
    lane.post(Counter::reduced, chunk + 1);
  }
}

}  // namespace muster::collectives::shm
