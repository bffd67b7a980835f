#include "kernels/cpu/plain_memory.hpp"

#include <cstdint>
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kernels/base/error.hpp"

namespace muster::kernels::cpu {
namespace {

constexpr std::size_t kAlignment = 256;
constexpr std::size_t kHugePage = std::size_t{2} << 20;

std::size_t round_up(std::size_t bytes, std::size_t unit) noexcept {
  return (bytes + unit - 1) / unit * unit;
}

std::byte* allocate_small(std::size_t bytes) noexcept {
  const std::size_t padded = round_up(bytes, kAlignment);
  void* data = std::aligned_alloc(kAlignment, padded);
  if (data != nullptr) std::memset(data, 0, padded);
  return static_cast<std::byte*>(data);
}

/// A fresh mapping that begins on a huge page: the system hands out pages already zero.
std::byte* allocate_large(std::size_t bytes) noexcept {
  const std::size_t padded = round_up(bytes, kHugePage);
  void* mapped = mmap(nullptr, padded + kHugePage, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  auto* const first = static_cast<std::byte*>(mapped);
  const auto address = reinterpret_cast<std::uintptr_t>(mapped);
  const std::size_t before = round_up(address, kHugePage) - address;
  const std::size_t after = kHugePage - before;
  if (before > 0) munmap(first, before);
  if (after > 0) munmap(first + before + padded, after);
  madvise(first + before, padded, MADV_HUGEPAGE);  // advice: without it, ordinary pages
  return first + before;
}

void release(std::byte* data, std::size_t bytes) noexcept {
  if (bytes < kHugePage) {
    std::free(data);
  } else {
    munmap(data, round_up(bytes, kHugePage));
  }
}

std::size_t physical_bytes() noexcept {
  return static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) *
         static_cast<std::size_t>(sysconf(_SC_PAGE_SIZE));
}

}  // namespace

Memory PlainMemory::allocate(std::size_t bytes, std::string_view what) {
  if (bytes == 0) return {};
  const std::size_t limit = physical_bytes();
  std::byte* data = nullptr;
  if (bytes <= limit) data = bytes < kHugePage ? allocate_small(bytes) : allocate_large(bytes);
  if (data == nullptr) {
    throw Error(ErrorCode::out_of_memory,
                fmt::format("no memory for {}: {} bytes asked for, {} already in use here, the "
                            "host has {}; use more ranks, a smaller micro-batch or more sharding",
                            what, bytes, allocated_, limit));
  }
  allocated_ += bytes;
  return {data, bytes, [this, bytes](std::byte* released) {
            release(released, bytes);
            allocated_ -= bytes;
          }};
}

}  // namespace muster::kernels::cpu
