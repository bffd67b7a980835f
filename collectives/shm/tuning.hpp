#pragma once

#include "collectives/shm/layout.hpp"

namespace muster::collectives::shm {

/// Sizes at which a group of `ranks` changes its way of reducing private buffers.
Tuning default_tuning(int ranks) noexcept;

}  // namespace muster::collectives::shm
