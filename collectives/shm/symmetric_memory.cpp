#include "collectives/shm/symmetric_memory.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>
#include <sys/mman.h>

#include "kernels/base/error.hpp"

namespace muster::collectives::shm {
namespace {

constexpr std::size_t kAlignment = 256;
constexpr std::size_t kPage = 4096;
constexpr std::size_t kPagedBytes = 64 * kKiB;  // from here ranges are whole pages

std::size_t round_up(std::size_t bytes, std::size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

// Long ranges begin where a large page can begin, so that they are made of those.
std::size_t alignment_of(std::size_t bytes) {
  if (bytes >= kHugePage) return kHugePage;
  return bytes >= kPagedBytes ? kPage : kAlignment;
}

}  // namespace

Memory SymmetricMemory::allocate(std::size_t bytes, std::string_view what) {
  const Range range = find(bytes);
  open(bytes, what);
  agree_on(range);
  const bool is_backed = fits(range) && back(range);
  open(bytes, what);
  agree_that_backed(is_backed, what, bytes);
  take(range);
  return {group_.segments.base(group_.rank) + range.offset, bytes,
          [this, range](std::byte*) { release(range); }};
}

void SymmetricMemory::meet(Deadline deadline) {
  lane_.open(Signature(Call{.sequence = sequence_++}), {.label = "making the group"}, deadline);
  lane_.arrive();
  lane_.meet();
}

void SymmetricMemory::open(std::size_t bytes, std::string_view what) {
  const Call call{.kind = CallKind::allocate,
                  .in = {nullptr, Dtype::u8, 1, 0},
                  .count = static_cast<std::int64_t>(bytes),
                  .sequence = sequence_++};
  lane_.open(Signature(call), {.label = what});
}

SymmetricMemory::Range SymmetricMemory::find(std::size_t bytes) const noexcept {
  const std::size_t limit = group_.segments.bytes();
  if (bytes > limit) return {limit, bytes};
  const std::size_t unit = bytes >= kPagedBytes ? kPage : kAlignment;
  const std::size_t rounded = std::max(round_up(bytes, unit), kAlignment);
  const auto entry = free_.find(rounded);
  const bool is_reused = entry != free_.end() && !entry->second.empty();
  return {is_reused ? entry->second.back() : round_up(end_, alignment_of(rounded)), rounded};
}

void SymmetricMemory::take(const Range& range) {
  if (range.offset < end_) {
    free_[range.bytes].pop_back();
  } else {
    end_ = range.offset + range.bytes;
  }
  allocated_ += range.bytes;
}

bool SymmetricMemory::fits(const Range& range) const noexcept {
  const std::size_t limit = group_.segments.bytes();
  return range.bytes <= limit && range.offset <= limit - range.bytes;
}

void SymmetricMemory::agree_on(const Range& range) {
  lane_.set_payload(range.offset);
  lane_.arrive();
  lane_.meet();
  for (int rank = 0; rank < group_.size; ++rank) {
    const auto first = lane_.payload_as<std::size_t>(0);
    const auto offset = lane_.payload_as<std::size_t>(rank);
    if (offset == first) continue;
    throw Error(ErrorCode::invalid_argument,
                fmt::format("symmetric memory of group {}: {} bytes would lie at offset {} on rank "
                            "{} and at {} on rank {}; every rank must allocate and give back the "
                            "same sizes in the same order",
                            group_.shown.group, range.bytes, first, group_.shown.rank(0), offset,
                            group_.shown.rank(rank)));
  }
}

void SymmetricMemory::agree_that_backed(bool is_backed, std::string_view what, std::size_t bytes) {
  lane_.set_payload(is_backed);
  lane_.arrive();
  lane_.meet();
  for (int rank = 0; rank < group_.size; ++rank) {
    if (lane_.payload_as<bool>(rank)) continue;
    throw Error(ErrorCode::out_of_memory,
                fmt::format("{} needs {} bytes of symmetric memory, which {} does not have; in use "
                            "by this group: {} bytes per rank, limit {}",
                            what, bytes, group_.describe(rank), allocated_,
                            group_.segments.bytes() - heap_begin(group_.size)));
  }
}

// Brings all pages in now: an error here is an Error, one at first use would be a signal. A range
// used before may hold old numbers at its ends, where pages are shared.
bool SymmetricMemory::back(const Range& range) noexcept {
  std::byte* const begin = group_.segments.base(group_.rank) + range.offset;
  if (range.bytes < kPagedBytes) {
    std::memset(begin, 0, range.bytes);
    return true;
  }
  if (::madvise(begin, range.bytes, MADV_POPULATE_WRITE) == 0) return true;
  if (errno != EINVAL) return false;
  std::memset(begin, 0, range.bytes);  // a kernel before 5.14
  return true;
}

void SymmetricMemory::release(const Range& range) noexcept {
  if (range.bytes >= kPagedBytes) {
    ::madvise(group_.segments.base(group_.rank) + range.offset, range.bytes, MADV_REMOVE);
  }
  free_[range.bytes].push_back(range.offset);
  allocated_ -= range.bytes;
}

}  // namespace muster::collectives::shm
