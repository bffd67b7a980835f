#pragma once

#include "collectives/call.hpp"
#include "collectives/shm/lane.hpp"

namespace muster::collectives::shm {

/// All-reduce or reduce of up to kInlineBytes, which travel in the arrive lines: one cache line per
/// rank, one sync. Sums of f32, f64, i32 and i64 are computed right here, since the call of a
/// kernel would take as long as the rest; the other cases go to the kernel.
void inline_reduce(Lane& lane, const Call& call);

}  // namespace muster::collectives::shm
