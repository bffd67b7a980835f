#include "runtime/train/heap_count.hpp"

#include <atomic>

namespace muster::runtime {
namespace {

std::atomic<std::int64_t> allocations{0};

}  // namespace

std::int64_t heap_allocations() noexcept {
  return allocations.load(std::memory_order_relaxed);
}

void count_heap_allocation() noexcept {
  allocations.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace muster::runtime
