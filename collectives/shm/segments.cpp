#include "collectives/shm/segments.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "collectives/net/fd.hpp"
#include "kernels/base/error.hpp"

namespace muster::collectives::shm {
namespace {

constexpr std::size_t kSmallestHeap = 16 * kMiB;
// Half of what a process can address: the rest is the program's.
constexpr std::size_t kAddressSpace = std::size_t{1} << 46;

std::size_t round_down(std::size_t bytes, std::size_t unit) {
  return bytes / unit * unit;
}

}  // namespace

Segments::Segments(Segments&& other) noexcept {
  *this = std::move(other);
}

Segments& Segments::operator=(Segments&& other) noexcept {
  std::swap(base_, other.base_);
  std::swap(stride_, other.stride_);
  std::swap(bytes_, other.bytes_);
  std::swap(reserved_, other.reserved_);
  std::swap(reserved_bytes_, other.reserved_bytes_);
  return *this;
}

Segments::~Segments() {
  if (reserved_ != nullptr) ::munmap(reserved_, reserved_bytes_);
}

Segments Segments::reserve(int ranks, std::size_t limit) {
  const auto count = static_cast<std::size_t>(ranks);
  const std::size_t smallest = heap_begin(ranks) + kSmallestHeap;
  std::size_t bytes = std::max(smallest, std::min(limit, kAddressSpace / count));
  for (bytes = round_down(bytes, kHugePage);; bytes = round_down(bytes / 2, kHugePage)) {
    if (bytes < smallest) {
      throw Error(ErrorCode::out_of_memory,
                  fmt::format("no address space for {} shared segments of {} MiB: {}; raise the "
                              "limit on virtual memory (ulimit -v)",
                              ranks, smallest / kMiB, errno_text(errno)));
    }
    const std::size_t whole = bytes * count + kHugePage;
    void* const at =
        ::mmap(nullptr, whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) continue;
    Segments segments;
    segments.reserved_ = static_cast<std::byte*>(at);
    segments.reserved_bytes_ = whole;
    const auto address = reinterpret_cast<std::uintptr_t>(at);
    segments.base_ = segments.reserved_ + (kHugePage - address % kHugePage) % kHugePage;
    segments.stride_ = segments.bytes_ = bytes;
    return segments;
  }
}

Segments Segments::over(std::byte* base, std::size_t bytes) noexcept {
  Segments segments;
  segments.base_ = base;
  segments.stride_ = segments.bytes_ = bytes;
  return segments;
}

void Segments::map(int rank, const Fd& file) {
  struct stat status {};
  if (::fstat(file.number(), &status) != 0 || status.st_size < 0 ||
      static_cast<std::size_t>(status.st_size) < bytes_) {
    throw Error(ErrorCode::peer_lost,
                fmt::format("the segment of rank {} has {} bytes, fewer than the {} agreed on",
                            rank, status.st_size, bytes_));
  }
  void* const at = ::mmap(base(rank), bytes_, PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_FIXED | MAP_NORESERVE, file.number(), 0);
  if (at == MAP_FAILED) {
    throw Error(ErrorCode::out_of_memory,
                fmt::format("cannot map the segment of rank {} ({} bytes): {}", rank, bytes_,
                            errno_text(errno)));
  }
  // Wishes, not needs: large pages where shared memory may have them, and no core files of a
  // terabyte of holes.
  ::madvise(base(rank) + kStagingOffset, bytes_ - kStagingOffset, MADV_HUGEPAGE);
  ::madvise(base(rank), bytes_, MADV_DONTDUMP);
}

Fd create_segment_file(std::size_t bytes) {
  Fd file(::memfd_create("muster-segment", MFD_CLOEXEC));
  if (!file.is_open() || ::ftruncate(file.number(), static_cast<off_t>(bytes)) != 0) {
    throw Error(
        ErrorCode::out_of_memory,
        fmt::format("cannot create a shared segment of {} bytes: {}", bytes, errno_text(errno)));
  }
  return file;
}

}  // namespace muster::collectives::shm
