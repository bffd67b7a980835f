#pragma once

#include <cstddef>
#include <cstdint>

#include <sys/types.h>

#include "collectives/shm/group.hpp"

namespace muster::collectives::shm {

/// Memory of another process that is not shared, read and written by the kernel in one copy
/// (process_vm_readv(2)). Linux allows it to whoever may trace that process: as a rule every
/// process of the same user, unless a sandbox or kernel.yama.ptrace_scope forbids it.
///
/// `address` is one in process `pid`. Returns 0, or the errno of the system: ESRCH when the process
/// has ended, EPERM when it may not be traced, EFAULT when no memory is there.
int read_private(pid_t pid, std::uint64_t address, std::byte* to, std::size_t bytes) noexcept;
int write_private(pid_t pid, std::uint64_t address, const std::byte* from,
                  std::size_t bytes) noexcept;

/// Leaves something for the others to try it on, which stays where it is while the group lives.
void publish_probe(const Group& group) noexcept;
/// Does this rank reach the private memory of all others? They have published before.
bool reaches_all(const Group& group) noexcept;

}  // namespace muster::collectives::shm
