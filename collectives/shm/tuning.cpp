#include "collectives/shm/tuning.hpp"

#include <algorithm>
#include <cstdlib>

namespace muster::collectives::shm {

Tuning default_tuning(int ranks) noexcept {
  Tuning tuning;
  tuning.one_shot_bytes = std::getenv("OS")
                              ? std::atoi(std::getenv("OS"))
                              : 32 * kKiB / static_cast<std::size_t>(std::max(ranks - 1, 1));
  tuning.chunk_bytes = std::getenv("CH") ? std::atoi(std::getenv("CH")) : 512 * kKiB;
  return tuning;
}

}  // namespace muster::collectives::shm
