#include "collectives/shm/private_memory.hpp"

#include <algorithm>
#include <cerrno>

#include <sys/uio.h>

namespace muster::collectives::shm {
namespace {

using Transfer = ssize_t (*)(pid_t, const iovec*, unsigned long, const iovec*, unsigned long,
                             unsigned long);

// The kernel moves less than 2 GiB in one call.
constexpr std::size_t kMostBytes = std::size_t{1} << 30;

int move(Transfer transfer, pid_t pid, std::uint64_t address, std::byte* here,
         std::size_t bytes) noexcept {
  while (bytes > 0) {
    const std::size_t next = std::min(bytes, kMostBytes);
    const iovec local{here, next};
    // NOLINTNEXTLINE(performance-no-int-to-ptr): an address of another process
    const iovec remote{reinterpret_cast<void*>(address), next};
    const ssize_t moved = transfer(pid, &local, 1, &remote, 1, 0);
    if (moved <= 0) return moved == 0 ? EFAULT : errno;
    here += moved;
    address += static_cast<std::uint64_t>(moved);
    bytes -= static_cast<std::size_t>(moved);
  }
  return 0;
}

bool reaches(const Group& group, int rank) noexcept {
  const pid_t pid = group.peers[static_cast<std::size_t>(rank)].pid;
  const std::uint64_t address =
      group.control(rank).probe_address.value.load(std::memory_order_acquire);
  std::uint64_t seen = 0;
  auto* const bytes = reinterpret_cast<std::byte*>(&seen);
  if (read_private(pid, address, bytes, sizeof(seen)) != 0) return false;
  // Else it is another process, whose numbers for processes are not ours.
  return seen == address && write_private(pid, address, bytes, sizeof(seen)) == 0;
}

}  // namespace

int read_private(pid_t pid, std::uint64_t address, std::byte* to, std::size_t bytes) noexcept {
  return move(::process_vm_readv, pid, address, to, bytes);
}

int write_private(pid_t pid, std::uint64_t address, const std::byte* from,
                  std::size_t bytes) noexcept {
  // The kernel only reads here, but has one type for both.
  return move(::process_vm_writev, pid, address, const_cast<std::byte*>(from), bytes);
}

void publish_probe(const Group& group) noexcept {
  CounterLine& probe = group.control(group.rank).probe_address;
  probe.value.store(reinterpret_cast<std::uintptr_t>(&probe.value), std::memory_order_release);
}

bool reaches_all(const Group& group) noexcept {
  for (int rank = 0; rank < group.size; ++rank) {
    if (rank != group.rank && !reaches(group, rank)) return false;
  }
  return true;
}

}  // namespace muster::collectives::shm
