// Counts the heap allocations of muster-rank and keeps small blocks for reuse: these replace the
// operators of the C++ library in the program they are linked into. The other forms (arrays,
// nothrow) call these.
//
// oneDNN 2.6 makes some maps of arguments in every matmul and drops them again, through whichever
// of its interfaces it is called. A list of free blocks per thread and size gives it the same
// blocks step after step, so that a step neither enters malloc nor takes its locks.

#include <array>
#include <cstdlib>
#include <new>

#include <malloc.h>

#include "runtime/train/heap_count.hpp"

namespace {

// A sanitizer must see every block come and go.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kKeepsBlocks = false;
#else
constexpr bool kKeepsBlocks = true;
#endif

/// Free blocks of one thread, by what malloc_usable_size() says of them. glibc's sizes are 8 more
/// than a multiple of 16; other sizes are not kept.
class FreeBlocks {
 public:
  FreeBlocks() = default;
  FreeBlocks(const FreeBlocks&) = delete;
  FreeBlocks& operator=(const FreeBlocks&) = delete;
  ~FreeBlocks() {
    is_closed_ = true;  // blocks that the thread's last destructors give back go to the heap
    for (List& list : lists_) {
      while (void* const block = list.pop()) std::free(block);
    }
  }

  /// nullptr when there is none.
  void* take(std::size_t bytes) noexcept {
    const std::size_t size_class = bytes <= kStep + 8 ? 1 : (bytes - 8 + kStep - 1) / kStep;
    return size_class < kClasses ? lists_[size_class].pop() : nullptr;
  }

  bool keep(void* block) noexcept {
    const std::size_t usable = ::malloc_usable_size(block);
    const std::size_t size_class = usable / kStep;
    if (is_closed_ || usable % kStep != 8 || size_class >= kClasses) return false;
    return lists_[size_class].push(block);
  }

 private:
  static constexpr std::size_t kStep = 16;
  static constexpr std::size_t kClasses = 17;  // up to 264 bytes
  static constexpr std::size_t kMostBlocks = 32;

  struct List {
    std::array<void*, kMostBlocks> blocks;
    std::size_t count = 0;

    void* pop() noexcept { return count == 0 ? nullptr : blocks[--count]; }
    bool push(void* block) noexcept {
      if (count == kMostBlocks) return false;
      blocks[count++] = block;
      return true;
    }
  };

  std::array<List, kClasses> lists_{};
  bool is_closed_ = false;
};

thread_local FreeBlocks free_blocks;

void give_back(void* block) noexcept {
  if (block == nullptr || (kKeepsBlocks && free_blocks.keep(block))) return;
  std::free(block);
}

}  // namespace

void* operator new(std::size_t bytes) {
  if constexpr (kKeepsBlocks) {
    if (void* const block = free_blocks.take(bytes)) return block;
  }
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
  give_back(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  give_back(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}
