// Counts the heap allocations of muster-rank: these replace the operators of the C++ library in the
// program they are linked into. The other forms (arrays, nothrow) call these.

#include <cstdlib>
#include <new>

#include "runtime/train/heap_count.hpp"

void* operator new(std::size_t bytes) {
  muster::runtime::count_heap_allocation();
  if (void* const memory = std::malloc(bytes == 0 ? 1 : bytes)) return memory;
  throw std::bad_alloc();
}

void* operator new(std::size_t bytes, std::align_val_t alignment) {
  muster::runtime::count_heap_allocation();
  const auto align = static_cast<std::size_t>(alignment);
  const std::size_t whole = (bytes + align - 1) / align * align;  // as aligned_alloc wants it
  if (void* const memory = std::aligned_alloc(align, whole == 0 ? align : whole)) return memory;
  throw std::bad_alloc();
}

void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}
