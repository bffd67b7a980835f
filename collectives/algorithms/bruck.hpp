#pragma once

#include <cstddef>
#include <span>

#include "collectives/algorithms/lane.hpp"

namespace muster::collectives::algorithms {

/// Gathers equal blocks on every rank by Bruck's algorithm. Returns them, in the lane's scratch
/// memory: block i is that of rank r + i. ceil(log2 n) messages.
///
///   step k:  r --> r - 2^k   the first 2^k blocks, or as many as are still missing there
std::span<std::byte> gather_blocks(Lane& lane, ConstTensorView own);

}  // namespace muster::collectives::algorithms
