#pragma once

#include <cstdint>

namespace muster::runtime {

/// Heap allocations of this process so far, by any thread: calls of operator new that went on to
/// malloc, counted when the program is built with the hook (muster-rank is); 0 for ever elsewhere.
/// The hook serves small blocks from those it was given back, which are not counted.
std::int64_t heap_allocations() noexcept;

/// Called by the hook.
void count_heap_allocation() noexcept;

}  // namespace muster::runtime
