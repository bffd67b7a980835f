#pragma once

#include <cstdint>

namespace muster::runtime {

/// Heap allocations of this process so far, by any thread: the program counts calls of operator new
/// when it is built with the counting hook (muster-rank is); 0 for ever elsewhere.
std::int64_t heap_allocations() noexcept;

/// Called by the hook.
void count_heap_allocation() noexcept;

}  // namespace muster::runtime
